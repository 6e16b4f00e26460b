/**
 * An answer of 400 or more: the provider served nothing and bills nothing, so the hold returns. Mistakes of the caller
 * (400, 404, 413, 422) are passed on as they came; trouble with our account or theirs is not the caller's business.
 */
import type { Ending } from "../ending";
import type { GatewayAnswer } from "../http";
import type { UpstreamResponse } from "../ports";
import type { ErrorContext } from "../wire/error-response";
import { upstreamErrorAnswer } from "../wire/error-response";

const CALLERS_MISTAKES = new Set([400, 404, 413, 415, 422]);
/** Codes that mean money or keys, whatever the status (OpenAI error codes). */
const ACCOUNT_TROUBLE =
  /insufficient_quota|credit_balance|spend_limit|usage_limit|billing|invalid_api_key|insufficient balance|arrearage/iu;
const MAX_ERROR_BYTES = 64 * 1024;
const DEFAULT_RETRY_MS = 2000;

function retryAfterMs(upstream: UpstreamResponse): number {
  const value = upstream.headers["retry-after"];
  const seconds = typeof value === "string" ? Number(value) : Number.NaN;
  return Number.isFinite(seconds) && seconds > 0 ? Math.min(60_000, seconds * 1000) : DEFAULT_RETRY_MS;
}

function isErrorJson(text: string): boolean {
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === "object" && body !== null && "error" in body;
  } catch {
    return false;
  }
}

/** Throws UpstreamFailure where the error's body breaks off. */
export async function answerUpstreamError(
  upstream: UpstreamResponse,
  ending: Ending,
  context: ErrorContext,
  random: number,
): Promise<GatewayAnswer> {
  void ending.void();
  const bytes = await upstream.bytes().catch(() => new Uint8Array(0));
  const text = new TextDecoder().decode(bytes.subarray(0, MAX_ERROR_BYTES));
  if (CALLERS_MISTAKES.has(upstream.status) && isErrorJson(text) && !ACCOUNT_TROUBLE.test(text)) {
    const headers = { "content-type": "application/json", "x-request-id": context.requestId };
    return { status: upstream.status, headers, body: text };
  }
  const isBusy = upstream.status === 429 || upstream.status === 503 || upstream.status === 529;
  if (isBusy && !ACCOUNT_TROUBLE.test(text)) {
    return upstreamErrorAnswer(
      { status: 503, code: "upstream_error", retryAfterMs: retryAfterMs(upstream) },
      context,
      random,
    );
  }
  const isTimeout = upstream.status === 408 || upstream.status === 504;
  return upstreamErrorAnswer(
    isTimeout ? { status: 504, code: "upstream_timeout" } : { status: 502, code: "upstream_error" },
    context,
    random,
  );
}
