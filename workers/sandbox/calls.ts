/** What the sandbox saw: counters for GET /calls and, when asked to, the last requests for tests to look into. */
import type { IncomingHttpHeaders } from "node:http";

export interface RecordedRequest {
  readonly method: string;
  readonly path: string;
  /** As received, with the authorization header replaced by a note. */
  readonly headers: IncomingHttpHeaders;
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

  record(request: RecordedRequest): void {
    if (!this.keepsRequests) return;
    const { authorization, ...headers } = request.headers;
    const hidden = authorization === undefined ? {} : { authorization: "(hidden)" };
    this.recorded.push({ ...request, headers: { ...headers, ...hidden } });
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
