/** Books the sample's history the way the worker books real calls: ledger rows and both rollups in one statement. */
import { insertAlerts } from "@/lib/db/alerts";
import type { NewAlert } from "@/lib/db/alerts";
import { noteKeyUse } from "@/lib/db/api-keys";
import type { UsedKey } from "@/lib/db/api-keys";
import { insertLedgerBatch } from "@/lib/db/ledger-entries";
import { createLedgerPartitions } from "@/lib/db/ledger-partitions";
import { withSqlTransaction } from "@/lib/db/pool";
import type { SqlPool } from "@/lib/db/pool";
import { insertRefusals } from "@/lib/db/refusals";
import { newId } from "@/lib/domain/ids";
import { LADDER_TEMPLATES } from "@/lib/domain/ladder-templates";
import { periodAt } from "@/lib/domain/period";
import type { History, HistoryPlan } from "./history";

const BATCH = 2_000;
const MONTHS = 6;

export async function bookHistory(
  pool: SqlPool,
  organisationId: string,
  fromMs: number,
  history: History,
): Promise<void> {
  await createLedgerPartitions(pool, new Date(fromMs), MONTHS);
  const usedKeys: UsedKey[] = [];
  await withSqlTransaction(pool, async (client) => {
    for (let from = 0; from < history.events.length; from += BATCH) {
      const batch = history.events.slice(from, from + BATCH).map((event) => ({ k: "settled", e: event }));
      const inserted = await insertLedgerBatch(client, organisationId, JSON.stringify(batch));
      usedKeys.push(...inserted.usedKeys);
    }
    for (let from = 0; from < history.refusals.length; from += BATCH) {
      await insertRefusals(client, organisationId, JSON.stringify(history.refusals.slice(from, from + BATCH)));
    }
  });
  const newest = new Map<string, UsedKey>();
  for (const one of usedKeys) if (one.atMs > (newest.get(one.apiKeyId)?.atMs ?? 0)) newest.set(one.apiKeyId, one);
  await noteKeyUse(pool, organisationId, [...newest.values()]);
}

/** The threshold alerts that the history of the current periods would have raised. */
export async function raiseAlerts(pool: SqlPool, plan: HistoryPlan, nowMs: number): Promise<void> {
  const rows = await pool.query<{ budget_id: string; period_id: string; amount: string }>(
    "SELECT budget_id, period_id, amount FROM budget_rollups WHERE organisation_id = $1",
    [plan.organisationId],
  );
  const settled = new Map(rows.rows.map((row) => [`${row.budget_id} ${row.period_id}`, BigInt(row.amount)]));
  const alerts: NewAlert[] = [];
  for (const budget of plan.budgets) {
    const periodId = periodAt(budget.periodKind, nowMs, plan.calendar).id;
    const amount = settled.get(`${budget.id} ${periodId}`) ?? 0n;
    for (const rung of LADDER_TEMPLATES[budget.ladder ?? ""]?.rungs ?? []) {
      const threshold = rung.atBasisPoints;
      if (threshold === 0 || amount * 10_000n < BigInt(threshold) * budget.limitAmount) continue;
      alerts.push({
        id: newId("alr", nowMs),
        organisationId: plan.organisationId,
        budgetId: budget.id,
        periodId,
        threshold,
        kind: "threshold",
        detail: { settled: amount.toString(), limit: budget.limitAmount.toString(), meter: budget.meter },
      });
    }
  }
  await insertAlerts(pool, alerts);
}
