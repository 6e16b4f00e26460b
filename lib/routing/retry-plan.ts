/**
 * Whether and where a failed attempt is tried again, and after how long. Waits grow exponentially with full jitter (uniform
 * between nothing and the bound, so that callers who failed together do not come back together); a vendor's Retry-After is
 * honoured up to a bound and never undercut on the same deployment; nothing begins that cannot end before the deadline.
 */
import type { UpstreamErrorClass } from "./upstream-error";

export interface RetrySettings {
  /** Attempts of one call over all deployments of one model, the first included. */
  readonly maxAttempts: number;
  /** Over all models. */
  readonly maxAttemptsInAll: number;
  readonly baseDelayMs: number;
  readonly maxDelayMs: number;
  /** A vendor that asks for more is not waited for; another deployment may be tried. */
  readonly maxRetryAfterMs: number;
  /** From the start of the call. */
  readonly totalMs: number;
  /** Least time an attempt must have left to be worth beginning. */
  readonly minimumAttemptMs: number;
  /** Whether to send again what the vendor may already have served and billed: the company may pay twice. */
  readonly retriesBilled: boolean;
}

export const DEFAULT_RETRY: RetrySettings = {
  maxAttempts: 3,
  maxAttemptsInAll: 6,
  baseDelayMs: 500,
  maxDelayMs: 8_000,
  maxRetryAfterMs: 10_000,
  totalMs: 120_000,
  minimumAttemptMs: 1_000,
  retriesBilled: false,
};

export interface FailedAttempt {
  /** 1 for the first of this model. */
  readonly attempt: number;
  /** 1 for the first of the call. */
  readonly attemptInAll: number;
  readonly failure: UpstreamErrorClass;
  /** What the vendor asked for; null where it did not. */
  readonly retryAfterMs: number | null;
  /** Whether a deployment of the model that was not tried in this call is left. */
  readonly hasOther: boolean;
  /** Whether another model may serve the call. */
  readonly hasFallback: boolean;
  readonly startedMs: number;
  readonly nowMs: number;
  /** Whether bytes of the answer have reached the client: then nothing can be taken back. */
  readonly hasAnswered: boolean;
}

/** The same deployment, another one of the model, or another model. */
export type RetryPlace = "same" | "other" | "fallback";

export type RetryDecision =
  | { readonly retry: true; readonly where: RetryPlace; readonly delayMs: number }
  | {
      readonly retry: false;
      readonly because: "answered" | "final" | "billed" | "attempts" | "deadline" | "retryAfter";
    };

/** Full jitter: uniform in [0, min(max, base x 2^(attempt - 1))). `random` is in [0, 1). */
export function backoffMs(attempt: number, random: number, settings: RetrySettings): number {
  const bound = Math.min(settings.maxDelayMs, settings.baseDelayMs * 2 ** Math.min(attempt - 1, 30));
  return Math.floor(random * bound);
}

/** The pause before the next attempt; undefined where the vendor asks for more than is waited. */
function pauseMs(failed: FailedAttempt, where: RetryPlace, random: number, settings: RetrySettings) {
  const ownMs = backoffMs(failed.attempt, random, settings);
  // Another deployment has not asked for a pause, and its load is not the failed one's.
  if (where !== "same") return failed.failure.kind === "rate" ? 0 : Math.min(ownMs, settings.baseDelayMs);
  if (failed.retryAfterMs === null) return ownMs;
  return failed.retryAfterMs <= settings.maxRetryAfterMs ? failed.retryAfterMs + ownMs : undefined;
}

/** All deployments of a model come before another model, and another model before the same deployment again. */
function placeOf({ failure, hasOther, hasFallback }: FailedAttempt, isSpent: boolean): RetryPlace {
  if (!failure.mayTryOther) return "same";
  if (hasOther && !isSpent) return "other";
  return hasFallback ? "fallback" : "same";
}

/** Decides about the next attempt. Pure: `random` is in [0, 1). */
export function planRetry(failed: FailedAttempt, random: number, settings: RetrySettings): RetryDecision {
  const { failure } = failed;
  const no = (because: Extract<RetryDecision, { retry: false }>["because"]): RetryDecision => ({
    retry: false,
    because,
  });
  if (failed.hasAnswered) return no("answered");
  const isSpent = failed.attempt >= settings.maxAttempts;
  const where = placeOf(failed, isSpent);
  if (where === "same" && !failure.isRetryable) return no("final");
  if (failure.mayHaveBilled && !settings.retriesBilled) return no("billed");
  if ((isSpent && where === "same") || failed.attemptInAll >= settings.maxAttemptsInAll) return no("attempts");
  const delayMs = pauseMs(failed, where, random, settings);
  if (delayMs === undefined) return no("retryAfter");
  const beginsMs = failed.nowMs + delayMs;
  const lastMs = failed.startedMs + settings.totalMs - settings.minimumAttemptMs;
  return beginsMs > lastMs ? no("deadline") : { retry: true, where, delayMs };
}

/** Google says it in the body of the error: `retryDelay` of google.rpc.RetryInfo, in seconds. Null where there is none. */
export function retryDelayOf(bodyText: string): number | null {
  const seconds = /"retryDelay"\s*:\s*"(\d{1,9}(?:\.\d{1,9})?)s"/u.exec(bodyText)?.[1];
  return seconds === undefined ? null : Math.ceil(Number(seconds) * 1000);
}

/**
 * What a vendor's headers ask for: `retry-after-ms`, else `retry-after` in seconds or as an HTTP date (RFC 9110 section
 * 10.2.3). Null for nothing, nonsense and the past.
 */
export function retryAfterOf(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  nowMs: number,
): number | null {
  const first = (name: string) => {
    const value = headers[name];
    return typeof value === "string" ? value : value?.[0];
  };
  const exact = first("retry-after-ms");
  if (exact !== undefined && /^\d+(\.\d+)?$/u.test(exact)) return Math.ceil(Number(exact));
  const text = first("retry-after")?.trim();
  if (text === undefined) return null;
  if (/^\d+(\.\d+)?$/u.test(text)) return Math.ceil(Number(text) * 1000);
  const dateMs = /^[A-Z][a-z]{2}, /u.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isFinite(dateMs) && dateMs > nowMs ? dateMs - nowMs : null;
}
