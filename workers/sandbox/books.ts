/** The open endpoints: the bill, what was called, health. */
import type { Bill } from "./bill";
import type { Calls } from "./calls";
import { RequestError } from "./errors";
import type { HttpRequest } from "./http-request";
import type { Reply } from "./reply";

export interface Books {
  readonly bill: Bill;
  readonly calls: Calls;
  readonly allowReset: boolean;
  readonly sockets: ReadonlySet<unknown>;
}

const DEFAULT_PAGE_LINES = 10_000;
const MAX_PAGE_LINES = 50_000;

export function serveBooks(books: Books, request: HttpRequest, path: string, reply: Reply): void {
  const { bill, calls } = books;
  const resource = `${request.method} ${path}`;
  const query = request.query();
  if (resource === "GET /bill") {
    const limit = Math.min(queryInteger(query, "limit", DEFAULT_PAGE_LINES), MAX_PAGE_LINES);
    reply.send(200, bill.page(queryInteger(query, "since", 0), limit));
  } else if (resource === "GET /bill/totals") {
    reply.send(200, `{"currency":"${bill.currency}","totals":${bill.totals()}}`);
  } else if (resource === "GET /calls") {
    reply.send(200, calls.report(books.sockets.size));
  } else if (resource === "GET /health") {
    reply.send(200, `{"status":"ok"}`);
  } else if (resource === "POST /bill/reset" && books.allowReset) {
    bill.reset();
    calls.reset();
    reply.send(200, `{"status":"reset"}`);
  } else {
    calls.count("other");
    throw new RequestError(404, null, `Invalid URL (${resource})`);
  }
}

function queryInteger(query: URLSearchParams, name: string, fallback: number): number {
  const text = query.get(name);
  if (text === null) return fallback;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new RequestError(400, "invalid_value", `'${name}' must be a whole number.`, name);
}
