/**
 * Short windows counted by this process alone, for calls that pass while the store is away: request rates (GCRA), token buckets and
 * concurrency, by the arithmetic of scripts/includes/short-windows.lua. Each process gives the whole of a limit, so N of them let
 * through N times as much at the most. They begin full, whatever the store had counted before, and calls that it holds are not
 * among the running.
 */
import type { ReserveInput, ReserveOutcome, ReserveRateLimit } from "@/lib/gateway/ports";

const MINUTE_MS = 60_000;
/** Windows at once. Where more are in use at the same moment, calls of those beyond wait. */
const MAX_WINDOWS = 10_000;
const RETRY_MS = 1_000;

interface LocalWindow {
  /** Of the next request, in ms. */
  arrivalMs: number;
  /** Tokens left at that time. */
  balance: number;
  balanceMs: number;
  running: number;
}

interface Taken {
  readonly windows: readonly { readonly window: LocalWindow; readonly limit: ReserveRateLimit }[];
  readonly tokens: number;
}

type Refusal = Extract<ReserveOutcome, { code: "rate" }>;

/** How many requests may come at once. */
export function burstOf({ burstRequests, requestsPerMinute }: ReserveRateLimit): number {
  return Math.max(1, burstRequests ?? requestsPerMinute ?? 1);
}

function balanceAt({ balance, balanceMs }: LocalWindow, perMinute: number, nowMs: number): number {
  return Math.min(perMinute, balance + (Math.max(0, nowMs - balanceMs) * perMinute) / MINUTE_MS);
}

/** How long a call has to wait for the limit, and which code says so; undefined where there is room. */
function refusal(
  window: LocalWindow,
  limit: ReserveRateLimit,
  asked: number,
  nowMs: number,
): Pick<Refusal, "denial" | "retryAfterMs"> | undefined {
  const { requestsPerMinute, tokensPerMinute, concurrency } = limit;
  if (requestsPerMinute !== null) {
    const tolerance = (MINUTE_MS / requestsPerMinute) * (burstOf(limit) - 1);
    const waitMs = Math.max(nowMs, window.arrivalMs) - tolerance - nowMs;
    if (waitMs > 0) return { denial: "rate_limit_exceeded", retryAfterMs: Math.ceil(waitMs) };
  }
  if (tokensPerMinute !== null) {
    const short = Math.min(asked, tokensPerMinute) - balanceAt(window, tokensPerMinute, nowMs);
    if (short > 0)
      return { denial: "rate_limit_exceeded", retryAfterMs: Math.ceil((short * MINUTE_MS) / tokensPerMinute) };
  }
  if (concurrency !== null && window.running >= concurrency) {
    return { denial: "concurrency_limit_exceeded", retryAfterMs: RETRY_MS };
  }
  return undefined;
}

export class LocalWindows {
  private readonly windows = new Map<string, LocalWindow>();
  private readonly taken = new Map<string, Taken>();

  /** Takes from every limit of the call, or from none: the first that refuses is the answer. */
  take({ organisationId, reservationId, rateLimits, askedTokens }: ReserveInput, nowMs: number): Refusal | undefined {
    if (rateLimits.length === 0) return undefined;
    const windows: { window: LocalWindow; limit: ReserveRateLimit }[] = [];
    for (const [rateLimit, limit] of rateLimits.entries()) {
      const window = this.windowOf(`${organisationId}:${limit.id}`, limit, nowMs);
      const refused = window
        ? refusal(window, limit, askedTokens, nowMs)
        : ({ denial: "rate_limit_exceeded", retryAfterMs: RETRY_MS } as const);
      if (refused) return { code: "rate", ...refused, rateLimit, isLocal: true };
      if (window) windows.push({ window, limit });
    }
    for (const { window, limit } of windows) {
      const { requestsPerMinute, tokensPerMinute } = limit;
      if (requestsPerMinute !== null) {
        window.arrivalMs = Math.max(nowMs, window.arrivalMs) + MINUTE_MS / requestsPerMinute;
      }
      if (tokensPerMinute !== null) {
        window.balance = balanceAt(window, tokensPerMinute, nowMs) - askedTokens;
        window.balanceMs = nowMs;
      }
      window.running += 1;
    }
    this.taken.set(reservationId, { windows, tokens: askedTokens });
    return undefined;
  }

  /** The call is over: its places are free, and what it asked for and did not use is given back. Others are none of ours. */
  ended(reservationId: string, usedTokens: number): void {
    // Asked at the end of every call, and nearly always there is nothing.
    if (this.taken.size === 0) return;
    const call = this.taken.get(reservationId);
    if (!call) return;
    this.taken.delete(reservationId);
    for (const { window } of call.windows) {
      window.running -= 1;
      window.balance += call.tokens - usedTokens;
    }
  }

  /** Undefined where there are too many. */
  private windowOf(key: string, { tokensPerMinute }: ReserveRateLimit, nowMs: number): LocalWindow | undefined {
    const known = this.windows.get(key);
    if (known) return known;
    if (this.windows.size >= MAX_WINDOWS) this.forgetIdle(nowMs);
    if (this.windows.size >= MAX_WINDOWS) return undefined;
    const fresh = { arrivalMs: nowMs, balance: tokensPerMinute ?? 0, balanceMs: nowMs, running: 0 };
    this.windows.set(key, fresh);
    return fresh;
  }

  /** A window without a call for a minute is as good as a fresh one, but for a burst longer than that. */
  private forgetIdle(nowMs: number): void {
    for (const [key, { arrivalMs, balanceMs, running }] of this.windows) {
      if (running === 0 && nowMs - Math.max(arrivalMs, balanceMs) > MINUTE_MS) this.windows.delete(key);
    }
  }
}
