/** What the sandbox saw: counters for GET /calls and, when asked to, the last requests for tests to look into. */ import type { HttpRequest } from "./http-request";

export interface RecordedRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  /** By lower-case name, as received but for secrets, of which only the last four characters are kept. */
  readonly headers: Readonly<Record<string, string>>;
  /** Length of the body as received. */
  readonly bytes: number;
  /** The body as text, at most `MAX_RECORDED_CHARACTERS` of it. */
  readonly body: string;
}

const MAX_RECORDED = 200;
const MAX_RECORDED_CHARACTERS = 256 * 1024;
const SECRET_HEADERS = new Set(["authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie"]);

export class Calls {
  /** Calls whose answer has not ended yet. */
  active = 0;
  private readonly byPath = new Map<string, number>();
  private recorded: RecordedRequest[] = [];

  constructor(private readonly keepsRequests: boolean) {}

  /** Counts a request to a known route; `route` must come from a fixed set. */
  count(route: string): void {
    this.byPath.set(route, (this.byPath.get(route) ?? 0) + 1);
  }

  record(path: string, request: HttpRequest): void {
    if (!this.keepsRequests) return;
    const headers = request.headerLines().map(([name, value]) => [name, shown(name, value)] as const);
    this.recorded.push({
      method: request.method,
      path,
      query: request.target.slice(path.length).replace(/([?&]key=)[^&]*(.{4})/, "$1…$2"),
      headers: Object.fromEntries(headers),
      bytes: request.bytes.length,
      body: request.body.slice(0, MAX_RECORDED_CHARACTERS),
    });
    if (this.recorded.length > MAX_RECORDED) this.recorded.shift();
  }

  /** JSON for GET /calls; `requests` (oldest first, at most 200) only when requests are kept. */
  report(openConnections: number): string {
    return JSON.stringify({
      byPath: Object.fromEntries(this.byPath),
      openConnections,
      activeCalls: this.active,
      ...(this.keepsRequests ? { requests: this.recorded } : {}),
    });
  }

  reset(): void {
    this.byPath.clear();
    this.recorded = [];
  }
}

function shown(name: string, value: string): string {
  return SECRET_HEADERS.has(name) ? `…${value.slice(-4)}` : value;
}
