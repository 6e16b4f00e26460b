import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { FailedAttempt, RetrySettings } from "./retry-plan";
import { backoffMs, DEFAULT_RETRY, planRetry, retryAfterOf, retryDelayOf } from "./retry-plan";
import { classifyTransportFailure, classifyUpstreamError } from "./upstream-error";

const answer = (status: number, code = "") => classifyUpstreamError("openai", { status, codes: [code], message: "" });
const settings: RetrySettings = { ...DEFAULT_RETRY, baseDelayMs: 100, maxDelayMs: 800 };
const failed = (facts: Partial<FailedAttempt>): FailedAttempt => ({
  attempt: 1,
  attemptInAll: 1,
  failure: answer(500),
  retryAfterMs: null,
  hasOther: false,
  hasFallback: false,
  startedMs: 0,
  nowMs: 0,
  hasAnswered: false,
  ...facts,
});
const plan = (facts: Partial<FailedAttempt>, random = 0.5) => planRetry(failed(facts), random, settings);

describe("the retry plan", () => {
  it.each([
    ["a refused connection", classifyTransportFailure("unserved")],
    ["500", answer(500)],
    ["503", answer(503)],
    ["529", answer(529)],
    ["a rate limit", answer(429, "rate_limit_exceeded")],
  ])("%s is tried again, elsewhere if there is elsewhere", (_name, failure) => {
    expect(plan({ failure })).toMatchObject({ retry: true, where: "same" });
    expect(plan({ failure, hasOther: true })).toMatchObject({ retry: true, where: "other" });
  });

  it("no money is tried elsewhere at most; the caller's mistakes nowhere", () => {
    const money = answer(429, "insufficient_quota");
    expect(plan({ failure: money })).toEqual({ retry: false, because: "final" });
    expect(plan({ failure: money, hasOther: true })).toMatchObject({ retry: true, where: "other" });
    for (const failure of [
      answer(400, "invalid_value"),
      answer(400, "context_length_exceeded"),
      answer(400, "content_filter"),
    ]) {
      expect(plan({ failure, hasOther: true })).toEqual({ retry: false, because: "final" });
    }
  });

  it("another model is tried after the deployments of the first, and before the same deployment again", () => {
    const money = answer(429, "insufficient_quota");
    expect(plan({ hasFallback: true })).toMatchObject({ retry: true, where: "fallback" });
    expect(plan({ hasFallback: true, hasOther: true })).toMatchObject({ retry: true, where: "other" });
    expect(plan({ hasFallback: true, hasOther: true, attempt: 3 })).toMatchObject({ retry: true, where: "fallback" });
    expect(plan({ hasFallback: true, failure: money })).toMatchObject({ retry: true, where: "fallback" });
    expect(plan({ hasFallback: true, attempt: 1, attemptInAll: 6 })).toEqual({ retry: false, because: "attempts" });
    expect(plan({ hasFallback: true, failure: answer(400, "invalid_value") })).toEqual({
      retry: false,
      because: "final",
    });
  });

  it("what may have been served and billed is not sent again, unless the policy says so", () => {
    const failure = classifyTransportFailure("unknown");
    expect(plan({ failure, hasOther: true })).toEqual({ retry: false, because: "billed" });
    expect(planRetry(failed({ failure }), 0, { ...settings, retriesBilled: true }).retry).toBe(true);
  });

  it("nothing is tried again once bytes have reached the client, nor past the attempts or the deadline", () => {
    expect(plan({ hasAnswered: true })).toEqual({ retry: false, because: "answered" });
    expect(plan({ attempt: 3 })).toEqual({ retry: false, because: "attempts" });
    expect(plan({ nowMs: 119_001 }, 0)).toEqual({ retry: false, because: "deadline" });
    expect(plan({ nowMs: 119_000 }, 0)).toMatchObject({ retry: true });
  });

  it("Retry-After is waited out on the same deployment, not cut; another deployment need not wait", () => {
    const failure = answer(429, "rate_limit_exceeded");
    expect(plan({ failure, retryAfterMs: 7_000 }, 0)).toEqual({ retry: true, where: "same", delayMs: 7_000 });
    expect(plan({ failure, retryAfterMs: 10_001 })).toEqual({ retry: false, because: "retryAfter" });
    expect(plan({ failure, retryAfterMs: 10_001, hasOther: true })).toEqual({
      retry: true,
      where: "other",
      delayMs: 0,
    });
  });

  it("waits are spread over the whole bound, which doubles up to the maximum", () => {
    expect([1, 2, 3, 4, 5, 99].map((attempt) => backoffMs(attempt, 0.999_999, settings))).toEqual([
      99, 199, 399, 799, 799, 799,
    ]);
    expect(backoffMs(4, 0, settings)).toBe(0);
  });

  it("a retry never undercuts what the vendor asked for, nor begins too late to end", () => {
    const facts = fc.record({
      attempt: fc.integer({ min: 1, max: 5 }),
      attemptInAll: fc.integer({ min: 1, max: 8 }),
      failure: fc.constantFrom(answer(500), answer(429), answer(503), answer(429, "insufficient_quota"), answer(504)),
      retryAfterMs: fc.option(fc.nat(200_000)),
      hasOther: fc.boolean(),
      hasFallback: fc.boolean(),
      startedMs: fc.constant(0),
      nowMs: fc.nat(200_000),
      hasAnswered: fc.boolean(),
    });
    fc.assert(
      fc.property(facts, fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (attempt, random) => {
        const decision = planRetry(attempt, random, settings);
        if (!decision.retry) return;
        expect(attempt.nowMs + decision.delayMs).toBeLessThanOrEqual(settings.totalMs - settings.minimumAttemptMs);
        expect(attempt.failure.mayHaveBilled || attempt.hasAnswered).toBe(false);
        expect(attempt.attemptInAll).toBeLessThan(settings.maxAttemptsInAll);
        if (decision.where === "same") {
          expect(decision.delayMs).toBeGreaterThanOrEqual(attempt.retryAfterMs ?? 0);
          expect(attempt.failure.kind).not.toBe("money");
        }
      }),
    );
  });
});

describe("what a vendor asks for", () => {
  it("is read from the body where Google says it there", () => {
    const info = { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.5s" };
    expect(retryDelayOf(JSON.stringify({ error: { code: 429, details: [info] } }, null, 2))).toBe(34_500);
    expect(retryDelayOf("{}")).toBeNull();
  });

  const NOW = Date.UTC(2026, 10, 29, 12);
  it.each([
    [{ "retry-after-ms": "1500.2", "retry-after": "9" }, 1501],
    [{ "retry-after": "2" }, 2000],
    [{ "retry-after": ["3", "4"] }, 3000],
    [{ "retry-after": "Sun, 29 Nov 2026 12:00:05 GMT" }, 5000],
    [{ "retry-after": "Sun, 29 Nov 2026 11:00:00 GMT" }, null],
    [{ "retry-after": "-1" }, null],
    [{ "retry-after": "NaN" }, null],
    [{ "retry-after": "1e309" }, null],
    [{ "retry-after-ms": "soon", "retry-after": "1" }, 1000],
    [{}, null],
  ])("%j is %s ms", (headers, expected) => {
    expect(retryAfterOf(headers, NOW)).toBe(expected);
  });
});
