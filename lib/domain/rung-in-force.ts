/** Which rung of a ladder holds at a usage, by the same exact comparison as the reserve script. */
import type { Ladder, Rung } from "./policy";

const WHOLE_BASIS_POINTS = 10_000n;

/**
 * The highest rung whose mark is reached: used / limit >= mark. A budget without a limit (0) stands at its last rung.
 * Amounts are in the budget's meter; `limit` includes grants. Undefined when the ladder's lowest rung is above the usage.
 */
export function rungInForce(ladder: Ladder, used: bigint, limit: bigint): Rung | undefined {
  if (limit <= 0n) return ladder.rungs.at(-1);
  let inForce: Rung | undefined;
  for (const rung of ladder.rungs) {
    if (used * WHOLE_BASIS_POINTS >= BigInt(rung.atBasisPoints) * limit) inForce = rung;
  }
  return inForce;
}

/** used / limit in basis points, towards zero, at most 1,000,000; null where the limit is 0. */
export function usedBasisPoints(used: bigint, limit: bigint): number | null {
  if (limit <= 0n) return null;
  const ratio = (used * WHOLE_BASIS_POINTS) / limit;
  return Number(ratio > 1_000_000n ? 1_000_000n : ratio);
}
