/** Which budgets a call charges: those of its chain whose filters fit the model, class and environment. */
import { matchesPattern } from "./policy";
import type { BudgetDocument, Environment, Meter } from "./snapshot";

export interface CallScope {
  readonly model: string;
  readonly trafficClass: string;
  readonly environment: Environment;
}

export function budgetApplies(
  budget: Pick<BudgetDocument, "environment" | "classes" | "models">,
  scope: CallScope,
): boolean {
  if (budget.environment !== null && budget.environment !== scope.environment) return false;
  if (budget.classes.length > 0 && !budget.classes.includes(scope.trafficClass)) return false;
  return budget.models.length === 0 || budget.models.some((pattern) => matchesPattern(pattern, scope.model));
}

/** Amounts of one reservation by meter: cost in nanos of the organisation's currency, the others in pieces. */
export type MeterAmounts = Readonly<Record<Meter, bigint>>;

/** `requests`: more than one where many calls are held as one (the lines of a batch). */
export function meterAmounts(cost: bigint, inputTokens: number, outputTokens: number, requests = 1): MeterAmounts {
  return {
    cost,
    input_tokens: BigInt(inputTokens),
    output_tokens: BigInt(outputTokens),
    total_tokens: BigInt(inputTokens + outputTokens),
    requests: BigInt(requests),
  };
}

/** used / limit in basis points, rounded down; null where the limit is nothing. */
export function usageRatio(used: bigint, limit: bigint): number | null {
  return limit === 0n ? null : Number((used * 10_000n) / limit);
}

/** The end user of calls that name nobody. */
export const UNNAMED_END_USER = "eu_unnamed";

/**
 * Under which period a budget that is counted per end user keeps this one's counter. Begins with the period's own id, so it is
 * sorted, rebuilt and reconciled like it; `endUserId` is a hash (`lib/identity/end-user.ts`), never a name.
 */
export function endUserPeriodId(periodId: string, endUserId: string): string {
  return `${periodId}.${endUserId}`;
}
