/** What the provider's bill changes in the ledger: one correction an attempt, never a change of a row. */
import type { BookedAmounts, Knowledge } from "./correction";
import { differenceOf, rankOf, sumBooked, withAmounts } from "./correction";
import { convertNanos } from "./money";
import type { Meter } from "./snapshot";
import type { ChargedLine, TokenUsage, UsageEvent } from "./usage-event";

/** One call on a bill; amount in nanos of the bill's currency. */
export interface BilledCall {
  readonly amount: bigint;
  readonly inputTokens: number;
  readonly cacheReadTokens: number;
  readonly outputTokens: number;
}

/** Bill lines of one attempt added up. */
export function sumBilled(calls: readonly BilledCall[]): BilledCall {
  return calls.reduce((sum, call) => ({
    amount: sum.amount + call.amount,
    inputTokens: sum.inputTokens + call.inputTokens,
    cacheReadTokens: sum.cacheReadTokens + call.cacheReadTokens,
    outputTokens: sum.outputTokens + call.outputTokens,
  }));
}

/** A call that the provider never saw, by its bill. */
export const NOT_BILLED: BilledCall = { amount: 0n, inputTokens: 0, cacheReadTokens: 0, outputTokens: 0 };

export function amountOfMeter(meter: Meter, cost: bigint, usage: TokenUsage): bigint {
  if (meter === "cost") return cost;
  if (meter === "requests") return BigInt(usage.requests ?? 1);
  const tokens =
    meter === "input_tokens"
      ? usage.inputTokens
      : meter === "output_tokens"
        ? usage.outputTokens
        : usage.inputTokens + usage.outputTokens;
  return BigInt(tokens);
}

/**
 * The correction that makes an attempt's entries equal its bill, as an event of differences in the periods originally
 * charged; null where they are equal and nothing was estimated. Where they are equal but the ledger had an estimate, a
 * correction of zero says that the bill has confirmed it. `base` is the attempt's first entry; `booked` all of them.
 */
export function billCorrection(
  base: UsageEvent,
  booked: readonly (Knowledge & BookedAmounts)[],
  billed: BilledCall,
  nowMs: number,
): UsageEvent | null {
  const standing = sumBooked(booked);
  const usage: TokenUsage = {
    ...standing.usage,
    inputTokens: billed.inputTokens,
    cacheReadTokens: billed.cacheReadTokens,
    outputTokens: billed.outputTokens,
    cacheWriteTokens: Math.min(standing.usage.cacheWriteTokens, billed.inputTokens - billed.cacheReadTokens),
    reasoningTokens: Math.min(standing.usage.reasoningTokens, billed.outputTokens),
  };
  const amount = base.fxRate === null ? billed.amount : convertNanos(billed.amount, base.fxRate, "halfEven");
  const isSamePrice = billed.amount === standing.priceAmount;
  const wanted: BookedAmounts = {
    priceAmount: billed.amount,
    // Rounded once when it was settled: where the price is the same, so is the amount.
    amount: isSamePrice ? standing.amount : amount,
    savedAmount: standing.savedAmount,
    usage,
    lines: linesOf(base, isSamePrice ? standing.amount : amount, usage),
  };
  const difference = differenceOf(wanted, standing);
  const isEqual = difference.priceAmount === 0n && difference.lines.length === 0 && hasNoTokens(difference.usage);
  const isConfirmed = booked.some((entry) => rankOf(entry) >= 2);
  if (isEqual && isConfirmed) return null;
  return {
    ...withAmounts(base, difference),
    settledAtMs: nowMs,
    outcome: "reconciled",
    isEstimated: false,
    components: [],
    explanation: { rule: "provider-bill" },
  };
}

/** Lines of the budgets that the attempt charged, at the amounts wanted. */
function linesOf(base: UsageEvent, amount: bigint, usage: TokenUsage): ChargedLine[] {
  return base.lines.map((line) => ({ ...line, a: amountOfMeter(line.m, amount, usage).toString() }));
}

function hasNoTokens(usage: TokenUsage): boolean {
  return Object.values(usage).every((count) => count === 0);
}
