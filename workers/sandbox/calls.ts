/** What the sandbox saw: counters for GET /calls and, when asked to, the last requests for tests to look into. */ import type { HttpRequest } from "./http-request";

export interface RecordedRequest {
  readonly method: string;
  readonly path: string;
  /** By lower-case name, as received but for the secret in the authorization header. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const MAX_RECORDED = 200;

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
    const lines = request.head.split("\r\n").slice(1);
    const headers = Object.fromEntries(
      lines.map((line) => {
        const colon = line.indexOf(":");
        const name = line.slice(0, colon).toLowerCase();
        return [name, name === "authorization" ? "(hidden)" : line.slice(colon + 1).trim()];
      }),
    );
    this.recorded.push({ method: request.method, path, headers, body: request.body });
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
