import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { BreakerEvent, BreakerSettings, BreakerState } from "./breaker";
import { admission, breakerAfter, closedBreaker, DEFAULT_BREAKER, nextAdmissionMs } from "./breaker";

const settings: BreakerSettings = {
  consecutiveFailures: 3,
  failureRatio: 0.5,
  minimumCalls: 8,
  windowMs: 1_000,
  openMs: 100,
  maxOpenMs: 350,
  probes: 2,
  probeTimeoutMs: 500,
};
const START = 1_000_000;

/** Applies outcomes in the state's own generation. */
function run(
  state: BreakerState,
  types: readonly ("began" | "succeeded" | "failed" | "neutral" | "tripped")[],
  nowMs: number,
) {
  return types.reduce<BreakerState>((before, type) => {
    const event: BreakerEvent = type === "began" ? { type, nowMs } : { type, generation: before.generation, nowMs };
    return breakerAfter(before, event, settings);
  }, state);
}

describe("a breaker", () => {
  it("opens at failures in a row, not at failures with successes between", () => {
    const mixed = run(closedBreaker(START), ["failed", "failed", "succeeded", "failed", "failed"], START);
    expect(admission(mixed, START, settings)).toBe("pass");
    expect(admission(run(mixed, ["failed"], START), START, settings)).toBe("refuse");
  });

  it("opens at a bad share within a window, and forgets the window when it is over", () => {
    const alternating = ["succeeded", "failed", "succeeded", "failed", "succeeded", "failed", "succeeded"] as const;
    const before = run(closedBreaker(START), alternating, START);
    expect(run(before, ["failed"], START).phase).toBe("open");
    expect(run(before, ["failed"], START + 1_000).phase).toBe("closed");
  });

  it("lets a bounded number of probes through when its time is over, and heals by them", () => {
    const open = run(closedBreaker(START), ["failed", "failed", "failed"], START);
    expect(nextAdmissionMs(open, START, settings)).toBe(START + 100);
    expect(admission(open, START + 99, settings)).toBe("refuse");
    expect(admission(open, START + 100, settings)).toBe("probe");
    const probing = run(open, ["began", "began", "began"], START + 100);
    expect(admission(probing, START + 100, settings)).toBe("refuse");
    const healed = run(probing, ["succeeded", "succeeded"], START + 110);
    expect(healed).toMatchObject({ phase: "closed", openings: 0, inRow: 0 });
  });

  it("a failed probe opens it for twice as long, up to the bound", () => {
    let state = run(closedBreaker(START), ["tripped"], START);
    let now = START;
    const waits: number[] = [];
    for (let round = 0; round < 4; round += 1) {
      const next = nextAdmissionMs(state, now, settings);
      waits.push(next - now);
      now = next;
      state = run(state, ["began", "failed"], now);
    }
    expect(waits).toEqual([100, 200, 350, 350]);
  });

  it("a probe that is never heard of again gives its place back", () => {
    const open = run(closedBreaker(START), ["tripped"], START);
    const probing = run(open, ["began", "began"], START + 100);
    expect(nextAdmissionMs(probing, START + 200, settings)).toBe(START + 600);
    expect(admission(probing, START + 599, settings)).toBe("refuse");
    expect(admission(probing, START + 600, settings)).toBe("probe");
  });

  it("stragglers of an outage neither open a healed breaker nor heal an open one", () => {
    const before = closedBreaker(START);
    const healed = run(
      run(run(before, ["tripped"], START), ["began", "began"], START + 100),
      ["succeeded", "succeeded"],
      START + 110,
    );
    const straggler = (type: "failed" | "succeeded" | "tripped") => ({
      type,
      generation: before.generation,
      nowMs: START + 120,
    });
    for (let count = 0; count < 10; count += 1) {
      expect(breakerAfter(healed, straggler("failed"), settings)).toEqual(healed);
      expect(breakerAfter(healed, straggler("tripped"), settings)).toEqual(healed);
    }
    const open = run(before, ["tripped"], START);
    expect(breakerAfter(open, straggler("succeeded"), settings).phase).toBe("halfOpen");
    expect(breakerAfter(open, { ...straggler("succeeded"), nowMs: START + 1 }, settings)).toEqual(open);
  });

  it("keeps its promises over any sequence of calls and outcomes", () => {
    const step = fc.record({
      type: fc.constantFrom("begin", "succeeded", "failed", "neutral", "tripped"),
      waitMs: fc.nat(400),
      pick: fc.nat(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        let state: BreakerState = closedBreaker(START);
        let nowMs = START;
        let running: number[] = [];
        for (const { type, waitMs, pick } of steps) {
          nowMs += waitMs;
          const was = admission(state, nowMs, settings);
          const before = state;
          if (type === "begin") {
            state = breakerAfter(state, { type: "began", nowMs }, settings);
            if (was !== "refuse") running.push(state.generation);
          } else {
            const generation = running[pick % Math.max(1, running.length)] ?? -1;
            running = running.filter((_, index) => index !== pick % Math.max(1, running.length));
            state = breakerAfter(state, { type, generation, nowMs }, settings);
          }
          // An open breaker stays shut until its time, whatever comes in.
          if (before.phase === "open" && nowMs < before.untilMs) expect(state).toEqual(before);
          if (state.phase === "open") expect(state.untilMs - nowMs).toBeLessThanOrEqual(settings.maxOpenMs);
          if (state.phase === "halfOpen") expect(state.probesSinceMs.length).toBeLessThanOrEqual(settings.probes);
          expect(state.generation).toBeGreaterThanOrEqual(before.generation);
          // There is always a way back: at the time it names, a call may begin.
          const next = nextAdmissionMs(state, nowMs, settings);
          expect(next - nowMs).toBeLessThanOrEqual(Math.max(settings.maxOpenMs, settings.probeTimeoutMs));
          expect(admission(state, next, settings)).not.toBe("refuse");
        }
      }),
    );
  });

  it("a deployment that always answers is never shut out by the settings that ship", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom("succeeded", "neutral"), { maxLength: 100 }), (types) => {
        const end = types.reduce<BreakerState>(
          (state, type) => breakerAfter(state, { type, generation: 0, nowMs: START }, DEFAULT_BREAKER),
          closedBreaker(START),
        );
        expect(admission(end, START, DEFAULT_BREAKER)).toBe("pass");
      }),
    );
  });
});
