/**
 * What an attempt that failed means: for the caller, for the money, and for whether another may follow. Mistakes of the caller
 * are passed on as they came; trouble with our account or theirs is not the caller's business.
 */
import { classifyTransportFailure, classifyUpstreamError, readUpstreamError } from "@/lib/routing/upstream-error";
import type { UpstreamErrorClass } from "@/lib/routing/upstream-error";
import { retryAfterOf, retryDelayOf } from "@/lib/routing/retry-plan";
import type { Held } from "../exchange";
import type { GatewayAnswer } from "../http";
import type { UpstreamFailure, UpstreamResponse } from "../ports";
import type { ErrorContext, UpstreamProblem } from "../wire/error-response";
import { upstreamErrorAnswer } from "../wire/error-response";
import { inShapeOf, passedError } from "../wire/routes/error-shapes";

/** An attempt that brought no answer. */
export interface AttemptFailure {
  readonly failure: UpstreamErrorClass;
  /** What the provider asked for; null where it did not. */
  readonly retryAfterMs: number | null;
  readonly status: number | null;
  /**
   * What of the reservation is due: nothing, the input (read and refused), or, where nobody knows, what the policy says.
   */
  readonly due: "nothing" | "input" | "unknown";
  /** What the caller sees if no other attempt follows. */
  readonly answer: (random: number) => GatewayAnswer;
}

const PASSED_KINDS = new Set(["invalid", "context", "content"]);
const PASSED_STATUSES = new Set([400, 404, 413, 415, 422]);
/** Words of money and keys, whatever the class: such a text is never passed on. */
const ACCOUNT_TROUBLE =
  /insufficient_quota|credit.?balance|(spend|usage).limit|billing|invalid_api_key|insufficient.balance|arrearage|余额|欠费|充值/iu;
const MAX_ERROR_BYTES = 64 * 1024;
const DEFAULT_RETRY_MS = 2000;
const MAX_RETRY_MS = 60_000;
const TIMEOUT_STATUSES = new Set([408, 504, 524]);

/** Whether a provider's text speaks of our account with it, which is nobody's business. */
export function speaksOfAccount(text: string): boolean {
  return ACCOUNT_TROUBLE.test(text);
}

function errorJson(text: string): unknown {
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === "object" && body !== null && "error" in body ? body : undefined;
  } catch {
    return undefined;
  }
}

function problemOf(failure: UpstreamErrorClass, status: number | null, retryAfterMs: number | null): UpstreamProblem {
  if (failure.kind === "rate" || failure.kind === "overloaded") {
    const waitMs = Math.min(MAX_RETRY_MS, retryAfterMs ?? DEFAULT_RETRY_MS);
    return { status: 503, code: "upstream_error", retryAfterMs: waitMs };
  }
  return status !== null && TIMEOUT_STATUSES.has(status)
    ? { status: 504, code: "upstream_timeout" }
    : { status: 502, code: "upstream_error" };
}

function dueOf(failure: UpstreamErrorClass): AttemptFailure["due"] {
  if (!failure.mayHaveBilled) return "nothing";
  return failure.kind === "content" || failure.kind === "context" ? "input" : "unknown";
}

function isCallersMistake(status: number, text: string): boolean {
  return PASSED_STATUSES.has(status) && !ACCOUNT_TROUBLE.test(text);
}

/** Of an error that an object at the provider brought about: its text where that is the caller's business. */
export async function passableError(upstream: UpstreamResponse): Promise<string | undefined> {
  const bytes = await upstream.bytes().catch(() => new Uint8Array(0));
  const text = new TextDecoder().decode(bytes.subarray(0, MAX_ERROR_BYTES));
  const isPassed =
    errorJson(text) !== undefined && (isCallersMistake(upstream.status, text) || upstream.status === 409);
  return isPassed && !ACCOUNT_TROUBLE.test(text) ? text : undefined;
}

/** An error answer of 400 or more; or one that hides in a 200, of which the bytes are given. */
export async function failureOfAnswer(
  held: Held,
  upstream: UpstreamResponse,
  context: ErrorContext,
  nowMs: number,
  hidden?: Uint8Array,
): Promise<AttemptFailure> {
  const bytes = hidden ?? (await upstream.bytes().catch(() => new Uint8Array(0)));
  const text = new TextDecoder().decode(bytes.subarray(0, MAX_ERROR_BYTES));
  const { status } = upstream;
  const failure = classifyUpstreamError(held.serving.target.provider.kind, readUpstreamError(status, text));
  const retryAfterMs = retryAfterOf(upstream.headers, nowMs) ?? retryDelayOf(text);
  const body = errorJson(text);
  const shownStatus = hidden ? 400 : status;
  const isPassed = PASSED_KINDS.has(failure.kind) && body !== undefined && isCallersMistake(shownStatus, text);
  return {
    failure,
    retryAfterMs,
    status,
    due: dueOf(failure),
    answer: (random) =>
      isPassed
        ? passed(held, shownStatus, text, body, context)
        : inShapeOf(context.protocol, upstreamErrorAnswer(problemOf(failure, status, retryAfterMs), context, random)),
  };
}

function passed(held: Held, status: number, text: string, body: unknown, context: ErrorContext): GatewayAnswer {
  if (held.serving.target.translation !== null) return passedError(context.protocol, status, body, context.requestId);
  const headers = { "content-type": "application/json", "x-request-id": context.requestId };
  return { status, headers, body: text };
}

/** No answer at all. */
export function failureOfTransport(error: UpstreamFailure, context: ErrorContext): AttemptFailure {
  const failure = classifyTransportFailure(error.reach);
  const problem: UpstreamProblem =
    error.reason === "timeout" ? { status: 504, code: "upstream_timeout" } : { status: 502, code: "upstream_error" };
  return {
    failure,
    retryAfterMs: null,
    status: null,
    due: error.reach === "unserved" ? "nothing" : "unknown",
    answer: (random) => inShapeOf(context.protocol, upstreamErrorAnswer(problem, context, random)),
  };
}
