/**
 * What a budget has already counted before it existed, or before its filters were what they are. The filters are applied
 * to the ledger once, here; every later rebuild adds this amount to the lines that name the budget.
 */
import { findBudgetRollup, sumLedgerForBudget } from "@/lib/db/ledger-sums";
import { calendarOf } from "@/lib/domain/entities";
import type { Budget } from "@/lib/domain/entities";
import { periodAt } from "@/lib/domain/period";
import type { Change } from "./change";

type Counted = Pick<
  Budget,
  | "id"
  | "organisationId"
  | "consumerId"
  | "apiKeyId"
  | "providerId"
  | "deploymentId"
  | "meter"
  | "periodKind"
  | "environment"
  | "models"
  | "classes"
  | "perEndUser"
>;

/**
 * The opening of the current period: the ledger's sum under these filters, less what booked lines charge to this budget
 * already, so that opening + lines is the sum. It may be below zero when filters were narrowed.
 */
export async function openingFor(
  change: Change,
  budget: Counted,
): Promise<{ openingPeriodId: string; openingAmount: bigint }> {
  const period = periodAt(budget.periodKind, change.nowMs, calendarOf(change.organisation));
  // Whose the past calls were is not known well enough to limit people by it.
  if (budget.perEndUser) return { openingPeriodId: period.id, openingAmount: 0n };
  const counted = await sumLedgerForBudget(change.tx, budget, period);
  const charged = await findBudgetRollup(change.tx, budget.organisationId, budget.id, period.id);
  return { openingPeriodId: period.id, openingAmount: counted - charged };
}
