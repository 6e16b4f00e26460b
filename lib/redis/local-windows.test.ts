import { describe, expect, it } from "vitest";
import type { ReserveInput, ReserveRateLimit } from "@/lib/gateway/ports";
import { LocalWindows } from "./local-windows";

const NO_LIMIT = { requestsPerMinute: null, burstRequests: null, tokensPerMinute: null, concurrency: null };

function limit(id: string, bounds: Partial<ReserveRateLimit>): ReserveRateLimit {
  return { id, ...NO_LIMIT, ...bounds };
}

let count = 0;
function call(rateLimits: readonly ReserveRateLimit[], askedTokens = 1, organisationId = "acme"): ReserveInput {
  count += 1;
  return {
    organisationId,
    reservationId: `req_${String(count)}:0`,
    epoch: "1",
    windowStartMs: 0,
    windowEndMs: Number.MAX_SAFE_INTEGER,
    budgets: [],
    plans: [],
    rateLimits,
    askedTokens,
    head: { opening: "", call: "", servings: [], held: [] },
    previous: null,
  };
}

/** How many of a hundred calls at one moment pass. */
function passedAt(windows: LocalWindows, nowMs: number, rateLimits: readonly ReserveRateLimit[], tokens = 1): number {
  let passed = 0;
  for (let index = 0; index < 100; index += 1) {
    if (!windows.take(call(rateLimits, tokens), nowMs)) passed += 1;
  }
  return passed;
}

describe("a process that counts alone", () => {
  it("gives the burst of a request rate at once, then one an interval, and says when", () => {
    const windows = new LocalWindows();
    const limits = [limit("rate", { requestsPerMinute: 60, burstRequests: 5 })];
    expect(passedAt(windows, 0, limits)).toBe(5);
    expect(windows.take(call(limits), 0)).toEqual({
      code: "rate",
      denial: "rate_limit_exceeded",
      rateLimit: 0,
      retryAfterMs: 1_000,
      isLocal: true,
    });
    expect(passedAt(windows, 999, limits)).toBe(0);
    expect(passedAt(windows, 1_000, limits)).toBe(1);
    expect(passedAt(windows, 3_600_000, limits)).toBe(5);
  });

  it("gives the tokens of a minute, and what a call did not use of those it asked for to others", () => {
    const windows = new LocalWindows();
    const limits = [limit("tokens", { tokensPerMinute: 1_000 })];
    const first = call(limits, 900);
    expect(windows.take(first, 0)).toBeUndefined();
    expect(windows.take(call(limits, 200), 0)).toMatchObject({ denial: "rate_limit_exceeded", retryAfterMs: 6_000 });
    windows.ended(first.reservationId, 100);
    expect(passedAt(windows, 0, limits, 300)).toBe(3);
    // Its end is told once.
    windows.ended(first.reservationId, 0);
    expect(passedAt(windows, 0, limits, 300)).toBe(0);
    expect(passedAt(windows, 60_000, limits, 300)).toBe(3);
  });

  it("lets a call pass that asks for more than a minute has, and has the next ones wait for it", () => {
    const windows = new LocalWindows();
    const limits = [limit("tokens", { tokensPerMinute: 1_000 })];
    expect(windows.take(call(limits, 5_000), 0)).toBeUndefined();
    expect(windows.take(call(limits, 1), 0)).toMatchObject({ code: "rate" });
    expect(windows.take(call(limits, 1), 240_060)).toBeUndefined();
  });

  it("has no more calls running than the limit says, and frees a place when one ends", () => {
    const windows = new LocalWindows();
    const limits = [limit("places", { concurrency: 2 })];
    const [one, two] = [call(limits), call(limits)];
    expect([windows.take(one, 0), windows.take(two, 0)]).toEqual([undefined, undefined]);
    expect(windows.take(call(limits), 0)).toMatchObject({ denial: "concurrency_limit_exceeded", isLocal: true });
    windows.ended(one.reservationId, 0);
    windows.ended(one.reservationId, 0);
    windows.ended("req_unknown:0", 0);
    expect(passedAt(windows, 0, limits)).toBe(1);
  });

  it("takes from every limit or from none", () => {
    const windows = new LocalWindows();
    const [wide, narrow] = [limit("wide", { requestsPerMinute: 10 }), limit("narrow", { concurrency: 1 })];
    expect(passedAt(windows, 0, [wide, narrow])).toBe(1);
    expect(windows.take(call([wide, narrow]), 0)).toMatchObject({ rateLimit: 1 });
    expect(passedAt(windows, 0, [wide])).toBe(9);
  });

  it("keeps organisations apart, and calls without a limit cost nothing", () => {
    const windows = new LocalWindows();
    const limits = [limit("same", { concurrency: 1 })];
    expect(windows.take(call(limits, 1, "acme"), 0)).toBeUndefined();
    expect(windows.take(call(limits, 1, "globex"), 0)).toBeUndefined();
    expect(passedAt(windows, 0, [])).toBe(100);
  });

  it("remembers a bounded number of windows, and forgets those that nobody uses", () => {
    const windows = new LocalWindows();
    const at = (index: number) => [limit(`limit-${String(index)}`, { requestsPerMinute: 1 })];
    for (let index = 0; index < 10_000; index += 1) {
      const one = call(at(index));
      windows.take(one, 0);
      windows.ended(one.reservationId, 0);
    }
    expect(windows.take(call(at(10_000)), 0)).toMatchObject({ code: "rate" });
    expect(windows.take(call(at(10_000)), 200_000)).toBeUndefined();
  });
});
