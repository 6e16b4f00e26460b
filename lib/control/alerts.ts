/**
 * Alerts fire on what is settled alone, once per budget, period and threshold. The settlement loop notes which budgets a
 * batch touched; a round a second compares those with their limits, so a burst of batches costs one look.
 */
import { insertAlerts, listLadderRungs, listRecentRollups, listStandings, markAlertDispatched } from "@/lib/db/alerts";
import type { NewAlert } from "@/lib/db/alerts";
import { newId } from "@/lib/domain/ids";
import { LADDER_TEMPLATES } from "@/lib/domain/ladder-templates";
import type { BookkeepingDeps } from "./bookkeeping";

/** Thresholds of a budget whose ladder names none: those of the monthly template. */
const DEFAULT_THRESHOLDS = [7500, 9000, 9800, 10_000];
const MAX_TOUCHED = 50_000;

interface BudgetPeriod {
  readonly budgetId: string;
  readonly periodId: string;
}

/** Budgets touched since the last look, by organisation. Bounded; what does not fit is found by the hourly look. */
export class TouchedBudgets {
  private readonly byOrganisation = new Map<string, Map<string, BudgetPeriod>>();
  private size = 0;

  add(organisationId: string, touched: readonly BudgetPeriod[]): void {
    if (touched.length === 0) return;
    const budgets = this.byOrganisation.get(organisationId) ?? new Map<string, BudgetPeriod>();
    this.byOrganisation.set(organisationId, budgets);
    for (const { budgetId, periodId } of touched) {
      const key = `${budgetId} ${periodId}`;
      if (budgets.has(key) || this.size >= MAX_TOUCHED) continue;
      budgets.set(key, { budgetId, periodId });
      this.size += 1;
    }
  }

  take(): Map<string, readonly BudgetPeriod[]> {
    const taken = new Map([...this.byOrganisation].map(([id, budgets]) => [id, [...budgets.values()]] as const));
    this.byOrganisation.clear();
    this.size = 0;
    return taken;
  }
}

function thresholdsOf(ladder: string | null, ladders: ReadonlyMap<string, readonly number[]>): readonly number[] {
  if (ladder === null) return DEFAULT_THRESHOLDS;
  const rungs = ladders.get(ladder) ?? LADDER_TEMPLATES[ladder]?.rungs.map((rung) => rung.atBasisPoints);
  const rising = rungs?.filter((basisPoints) => basisPoints > 0) ?? [];
  return rising.length === 0 ? DEFAULT_THRESHOLDS : rising;
}

/** Raises what is due for these budgets; returns the ids of new alerts. Safe to repeat and to run twice at once. */
export async function raiseThresholdAlerts(
  deps: BookkeepingDeps,
  organisationId: string,
  budgets: readonly BudgetPeriod[],
): Promise<string[]> {
  const standings = await listStandings(deps.db.pool, organisationId, budgets);
  if (standings.length === 0) return [];
  const ladders = await listLadderRungs(deps.db.pool, organisationId);
  const due: NewAlert[] = [];
  for (const standing of standings) {
    if (standing.settled <= 0n) continue;
    for (const threshold of thresholdsOf(standing.ladder, ladders)) {
      if (standing.settled * 10_000n < BigInt(threshold) * standing.limit) continue;
      due.push({
        id: newId("alr", deps.clock.nowMs()),
        organisationId,
        budgetId: standing.budgetId,
        periodId: standing.periodId,
        threshold,
        kind: "threshold",
        detail: { settled: standing.settled.toString(), limit: standing.limit.toString(), meter: standing.meter },
      });
    }
  }
  return insertAlerts(deps.db.pool, due);
}

/** The same for every budget whose ledger sum changed since then: what a process that died had noted and not looked at. */
export async function raiseRecentAlerts(deps: BookkeepingDeps, organisationId: string, since: Date): Promise<string[]> {
  return raiseThresholdAlerts(deps, organisationId, await listRecentRollups(deps.db.pool, organisationId, since));
}

/** Notes that an alert was handed to its channels; false where it was before. */
export async function dispatchAlert(deps: BookkeepingDeps, alertId: string): Promise<boolean> {
  return markAlertDispatched(deps.db.pool, alertId);
}
