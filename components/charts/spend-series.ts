/** Prepares the month's cumulative spend for the chart. Pure; amounts stay exact until they become pixels. */
import type { Overview } from "@/lib/contracts/overview";

export interface SpendPoint {
  /** End of the day the point stands for, or the start of the month for the first, Unix ms. */
  readonly atMs: number;
  /** Units of currency, for drawing only; null after today. */
  readonly spent: number | null;
  /** Even pace to the limit; null without a limit. */
  readonly pace: number | null;
  /** Exact cumulative nanos as text; null after today. */
  readonly spentNanos: string | null;
}

export interface SpendSeries {
  readonly points: readonly SpendPoint[];
  readonly totalNanos: bigint;
  readonly limitNanos: bigint | null;
  /** Where even pace would stand now. */
  readonly paceNanos: bigint | null;
}

const NANOS_PER_UNIT = 1e9;
const DAY_MS = 86_400_000;
const MAX_DAYS = 32;

/** An even share of the limit at the instant, from the start to the end of the period. */
export function paceAt(
  limit: bigint,
  atMs: number,
  period: { readonly startMs: number; readonly endMs: number },
): bigint {
  const elapsed = BigInt(Math.min(Math.max(atMs - period.startMs, 0), period.endMs - period.startMs));
  return (limit * elapsed) / BigInt(period.endMs - period.startMs);
}

export function spendSeries(view: Pick<Overview, "days" | "month" | "readAtMs">): SpendSeries {
  const { period, limitAmount } = view.month;
  const limit = limitAmount === null ? null : BigInt(limitAmount);
  const paceOf = (atMs: number): number | null =>
    limit === null ? null : Number(paceAt(limit, atMs, period)) / NANOS_PER_UNIT;
  const points: SpendPoint[] = [{ atMs: period.startMs, spent: 0, pace: paceOf(period.startMs), spentNanos: "0" }];
  let total = 0n;
  for (const day of view.days) {
    total += BigInt(day.amount);
    const atMs = Math.min(day.endMs, Math.max(view.readAtMs, day.startMs));
    points.push({ atMs, spent: Number(total) / NANOS_PER_UNIT, pace: paceOf(atMs), spentNanos: total.toString() });
  }
  // The rest of the month: only the pace line goes on.
  let next = view.days.at(-1)?.endMs ?? period.startMs;
  for (let count = 0; count < MAX_DAYS && next < period.endMs; count += 1) {
    next = Math.min(next + DAY_MS, period.endMs);
    points.push({ atMs: next, spent: null, pace: paceOf(next), spentNanos: null });
  }
  if (next >= period.endMs && points.at(-1)?.atMs !== period.endMs) {
    points.push({ atMs: period.endMs, spent: null, pace: paceOf(period.endMs), spentNanos: null });
  }
  return {
    points,
    totalNanos: total,
    limitNanos: limit,
    paceNanos: limit === null ? null : paceAt(limit, view.readAtMs, period),
  };
}
