import { describe, expect, it } from "vitest";
import { barGeometry, toneOf } from "./bar-geometry";

const marks = [7500, 9000, 9800, 10_000];

describe("barGeometry", () => {
  it("keeps spent, held and marks on one scale", () => {
    const bar = barGeometry({ spent: 50n, held: 25n, limit: 100n, marksBasisPoints: marks });
    expect(bar.spent + bar.held).toBeCloseTo(bar.marks[0]?.position ?? 0, 3);
    expect(bar.marks.at(-1)?.position).toBe(bar.limit);
  });
  it("shows how far spending went past the limit", () => {
    const bar = barGeometry({ spent: 200n, held: 0n, limit: 100n, marksBasisPoints: marks });
    expect(bar.spent).toBe(100);
    expect(bar.limit).toBe(50);
  });
  it("does not lose precision on amounts beyond 2^53", () => {
    const limit = 9_000_000_000_000_000_000n;
    expect(barGeometry({ spent: limit, held: 0n, limit, marksBasisPoints: [] }).spent).toBeCloseTo(96.1538, 3);
  });
  it("is full for spending on a budget of zero", () => {
    expect(barGeometry({ spent: 1n, held: 0n, limit: 0n, marksBasisPoints: marks }).spent).toBe(100);
    expect(barGeometry({ spent: 0n, held: 0n, limit: 0n, marksBasisPoints: marks }).spent).toBe(0);
  });
});

describe("toneOf", () => {
  it("changes exactly at the marks", () => {
    expect([7499, 7500, 8999, 9000, 9799, 9800, 9999, 10_000].map((used) => toneOf(used, marks))).toEqual([
      "calm",
      "warn",
      "warn",
      "downgrade",
      "downgrade",
      "protect",
      "protect",
      "exhausted",
    ]);
  });
  it("treats a budget of zero as used up", () => {
    expect(toneOf(null, marks)).toBe("exhausted");
  });
});
