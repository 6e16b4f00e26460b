/** The most that many calls of one model can cost together: the lines of a batch, of which only sums are known. */
import type { Nanos } from "@/lib/domain/money";
import { assertAmount } from "@/lib/domain/money";
import type { PriceRates } from "@/lib/domain/price-rates";
import { boundOf } from "./cost";
import type { BoundOptions } from "./rich-bound";

export interface CallSums {
  readonly calls: number;
  /** Of all calls together. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** The most that one of them has on one side. */
  readonly longestTokens: number;
}

/**
 * Nanos of the row's currency, rounded up. Every token at the dearest rate that the longest call may reach, fees once a call;
 * and a nano a call, since each is rounded by itself when it is settled. Throws as boundOf does.
 */
export function boundOfCalls(sums: CallSums, rates: PriceRates, options: Omit<BoundOptions, "longestTokens">): Nanos {
  const { calls, inputTokens, outputTokens, longestTokens } = sums;
  const fee = boundOf({ inputTokens: 0, outputTokens: 0, rates, ...options });
  const tokens = boundOf({ inputTokens, outputTokens, rates, ...options, longestTokens });
  return assertAmount(tokens + fee * BigInt(calls - 1) + BigInt(calls));
}
