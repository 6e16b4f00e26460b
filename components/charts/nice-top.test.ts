import { describe, expect, it } from "vitest";
import { niceTop } from "./nice-top";

describe("niceTop", () => {
  it("leaves room above the largest value and stays round", () => {
    expect([520, 1000, 0.034, 9_900_000].map(niceTop)).toEqual([600, 1200, 0.04, 12_000_000]);
  });
  it("draws an axis even where there is nothing", () => {
    expect(niceTop(0)).toBe(1);
    expect(niceTop(Number.NaN)).toBe(1);
  });
});
