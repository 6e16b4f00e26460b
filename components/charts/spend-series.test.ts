import { describe, expect, it } from "vitest";
import { paceAt, spendSeries } from "./spend-series";

const DAY = 86_400_000;
const period = { id: "M2026-04", startMs: 0, endMs: 30 * DAY };
const totals = { amount: "0", requests: 0, savedAmount: "0", downgradeRequests: 0, errorRequests: 0 };
const month = { period, totals, previousAmount: null, limitAmount: "30000000000", heldAmount: "0" };
const days = [
  { startMs: 0, endMs: DAY, amount: "1000000001" },
  { startMs: DAY, endMs: 2 * DAY, amount: "2000000002" },
];

describe("spendSeries", () => {
  it("adds days exactly: the last point is the month's total to the nano", () => {
    const series = spendSeries({ days, month, readAtMs: 1.5 * DAY });
    expect(series.totalNanos).toBe(3_000_000_003n);
    expect(series.points.filter((point) => point.spentNanos !== null).at(-1)?.spentNanos).toBe("3000000003");
  });

  it("draws no spend after now, but the pace to the end of the month", () => {
    const series = spendSeries({ days, month, readAtMs: 1.5 * DAY });
    expect(series.points.at(-1)).toMatchObject({ atMs: 30 * DAY, spent: null, pace: 30 });
    expect(series.points.filter((point) => point.spent !== null).at(-1)?.atMs).toBe(1.5 * DAY);
  });

  it("never goes back in time", () => {
    const at = spendSeries({ days, month, readAtMs: 1.5 * DAY }).points.map((point) => point.atMs);
    expect(at).toEqual([...at].sort((a, b) => a - b));
  });

  it("has no pace without a limit", () => {
    const series = spendSeries({ days, month: { ...month, limitAmount: null }, readAtMs: DAY });
    expect(series.limitNanos).toBeNull();
    expect(series.points.every((point) => point.pace === null)).toBe(true);
  });
});

describe("paceAt", () => {
  it("is nothing at the start and all of it at the end", () => {
    expect(paceAt(100n, 0, period)).toBe(0n);
    expect(paceAt(100n, 15 * DAY, period)).toBe(50n);
    expect(paceAt(100n, 31 * DAY, period)).toBe(100n);
  });
});
