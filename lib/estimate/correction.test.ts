import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CorrectionBook } from "./correction";

function book(...groups: readonly (readonly [calls: number, estimated: number, measured: number])[]): CorrectionBook {
  const made = new CorrectionBook();
  for (const [calls, estimated, measured] of groups) {
    for (let call = 0; call < calls; call += 1) made.record("m", estimated, measured);
  }
  return made;
}

describe("what settled calls teach", () => {
  it("is believed from a hundred calls on; the stated margin holds until then", () => {
    expect(book([99, 1000, 1100]).of("m")).toBeUndefined();
    expect(book([99, 1000, 1100]).holdFactor("m", 150)).toBe(1.5);
    expect(book([99, 1000, 1100]).guessFactor("m")).toBe(1);
    const learned = book([100, 1000, 1100]);
    expect(learned.holdFactor("m", 150)).toBeGreaterThanOrEqual(1.1);
    expect(learned.holdFactor("m", 150)).toBeLessThan(1.15);
    expect(learned.guessFactor("m")).toBeCloseTo(1.1);
  });

  it("never makes a hold smaller than what was counted, but a guess", () => {
    const learned = book([200, 1000, 500]);
    expect(learned.holdFactor("m", 100)).toBe(1);
    expect(learned.guessFactor("m")).toBeCloseTo(0.5);
  });

  it("leaves counts that are right as they are", () => {
    expect(book([500, 1000, 1000]).holdFactor("m", 100)).toBe(1);
  });

  it("takes the high end for holds and the mean for guesses", () => {
    const learned = book([480, 1000, 1000], [20, 1000, 2000]);
    expect(learned.holdFactor("m", 100)).toBeGreaterThanOrEqual(2);
    expect(learned.guessFactor("m")).toBeLessThan(1.1);
  });

  it("fades: what a model was like before is forgotten", () => {
    const learned = book([2000, 1000, 2000], [8000, 1000, 1000]);
    expect(learned.holdFactor("m", 100)).toBe(1);
    expect(learned.guessFactor("m")).toBeCloseTo(1, 2);
  });

  it("is not taken from prompts that are mostly framing, or from numbers that are none", () => {
    const learned = book([200, 63, 630], [200, Number.NaN, 100], [200, 1000, 0], [200, 1000, Number.NaN]);
    expect(learned.of("m")).toBeUndefined();
  });

  it("covers all but one in a hundred of any distribution of ratios", () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0.2, max: 6, noNaN: true }), { minLength: 200, maxLength: 400 }),
        (ratios) => {
          const learned = new CorrectionBook();
          for (const ratio of ratios) learned.record("m", 1000, ratio * 1000);
          const factor = learned.holdFactor("m", 100);
          expect(ratios.filter((ratio) => ratio > factor).length).toBeLessThanOrEqual(ratios.length / 100);
        },
      ),
      { numRuns: 50 },
    );
  });

  it("is bounded: the models not heard of for longest are forgotten", () => {
    const learned = book([150, 1000, 1200]);
    for (let model = 0; model < 1000; model += 1) learned.record(String(model), 1000, 1000);
    expect(learned.of("m")).toBeUndefined();
  });
});
