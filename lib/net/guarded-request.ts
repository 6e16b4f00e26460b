/**
 * One bounded request to a configured URL: key sets, token introspection, webhooks, price lists. Time, size and hops have a
 * limit; every hop of a redirect is judged like the first URL. Traffic to model providers goes through guardedAgent instead.
 */
import type { Dispatcher } from "undici";
import { request as undiciRequest } from "undici";
import { checkUrl } from "./check-url";
import { OutboundRefused } from "./guarded-connect";
import type { OutboundPolicy } from "./outbound-policy";

export interface GuardedRequest {
  readonly url: string;
  readonly method?: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** From the start to the last byte, redirects included. */
  readonly timeoutMs: number;
  readonly maxBytes: number;
  /** Redirects followed for a GET; a POST follows none. */
  readonly maxRedirects?: number;
}

export interface GuardedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** The request could not be answered: no connection, too late, too large, too many redirects. */
export class OutboundFailure extends Error {
  readonly reason: "connect" | "timeout" | "tooLarge" | "redirects" | "closed";

  constructor(reason: OutboundFailure["reason"], cause?: unknown) {
    super(`outbound request: ${reason}`, cause === undefined ? undefined : { cause });
    this.name = "OutboundFailure";
    this.reason = reason;
  }
}

/** Errors of resolving and connecting: nothing was sent. */
const CONNECT_CODES = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ETIMEDOUT",
  "UND_ERR_CONNECT_TIMEOUT",
]);

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** What belongs to the first origin only (Fetch standard, HTTP-redirect fetch). */
const ORIGIN_BOUND = /^(authorization|cookie|proxy-authorization|host)$/iu;

async function textOf(body: Dispatcher.ResponseData["body"], maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    length += chunk.length;
    if (length > maxBytes) throw new OutboundFailure("tooLarge");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length).toString("utf8");
}

function failureOf(error: unknown, signal: AbortSignal): Error {
  if (error instanceof OutboundRefused || error instanceof OutboundFailure) return error;
  if (signal.aborted) return new OutboundFailure("timeout", error);
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return new OutboundFailure(CONNECT_CODES.has(code) ? "connect" : "closed", error);
}

function withoutOriginBound(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !ORIGIN_BOUND.test(name)));
}

interface Hop {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Where a redirect leads; from https never back to http. Throws OutboundRefused. */
function nextHop(hop: Hop, location: string): Hop {
  if (!URL.canParse(location, hop.url)) throw new OutboundRefused("malformed");
  const from = new URL(hop.url);
  const to = new URL(location, hop.url);
  if (from.protocol === "https:" && to.protocol !== "https:") throw new OutboundRefused("scheme");
  return { url: to.href, headers: from.origin === to.origin ? hop.headers : withoutOriginBound(hop.headers) };
}

/** Throws OutboundRefused where a URL or address is not allowed, OutboundFailure where no whole answer came in time. */
export async function guardedRequest(
  call: GuardedRequest,
  deps: { readonly policy: OutboundPolicy; readonly agent: Dispatcher },
): Promise<GuardedAnswer> {
  const signal = AbortSignal.timeout(call.timeoutMs);
  const method = call.method ?? "GET";
  const maxRedirects = method === "GET" ? (call.maxRedirects ?? 0) : 0;
  let hop: Hop = { url: call.url, headers: call.headers ?? {} };
  for (let hops = 0; ; hops += 1) {
    const checked = checkUrl(hop.url, deps.policy);
    if (!checked.ok) throw new OutboundRefused(checked.reason);
    const answer = await exchange(checked.url, { ...call, method, headers: hop.headers }, deps.agent, signal);
    const { location } = answer.headers;
    if (maxRedirects === 0 || !REDIRECTS.has(answer.status) || typeof location !== "string") return answer;
    if (hops >= maxRedirects) throw new OutboundFailure("redirects");
    hop = nextHop(hop, location);
  }
}

async function exchange(
  url: URL,
  call: GuardedRequest,
  dispatcher: Dispatcher,
  signal: AbortSignal,
): Promise<GuardedAnswer> {
  try {
    const answer = await undiciRequest(url, {
      dispatcher,
      method: call.method ?? "GET",
      headers: { ...call.headers },
      body: call.body ?? null,
      signal,
    });
    return { status: answer.statusCode, headers: answer.headers, text: await textOf(answer.body, call.maxBytes) };
  } catch (error) {
    throw failureOf(error, signal);
  }
}
