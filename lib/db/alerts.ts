/** Alerts: once per budget, period, threshold and kind. */
import type { SqlClient } from "./pool";

export interface NewAlert {
  readonly id: string;
  readonly organisationId: string;
  readonly budgetId: string | null;
  readonly periodId: string | null;
  /** Basis points. */
  readonly threshold: number | null;
  readonly kind: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

/** Inserts those that are not there yet; returns the ids of the new ones. */
export async function insertAlerts(client: SqlClient, alerts: readonly NewAlert[]): Promise<string[]> {
  if (alerts.length === 0) return [];
  const result = await client.query<{ id: string }>(
    `INSERT INTO alerts (id, organisation_id, budget_id, period_id, threshold, kind, detail)
     SELECT id, "organisationId", "budgetId", "periodId", threshold, kind, detail
     FROM json_to_recordset($1::json) AS a(id text, "organisationId" text, "budgetId" text, "periodId" text, threshold integer, kind text, detail jsonb)
     ON CONFLICT (budget_id, period_id, threshold, kind) DO NOTHING RETURNING id`,
    [JSON.stringify(alerts)],
  );
  return result.rows.map((row) => row.id);
}

/** Whether an alert of this kind with this subject in its detail is still open: for kinds without a budget. */
export async function hasOpenAlert(
  client: SqlClient,
  organisationId: string,
  kind: string,
  subject: string,
): Promise<boolean> {
  const result = await client.query(
    `SELECT 1 FROM alerts WHERE organisation_id = $1 AND kind = $2 AND detail->>'subject' = $3 AND acknowledged_at IS NULL LIMIT 1`,
    [organisationId, kind, subject],
  );
  return result.rows.length > 0;
}

/** Closes threshold alerts of periods other than the ones given; returns how many. */
export async function closeAlertsOfOtherPeriods(
  client: SqlClient,
  organisationId: string,
  currentPeriodIds: readonly string[],
): Promise<number> {
  const result = await client.query(
    `UPDATE alerts SET acknowledged_at = now()
     WHERE organisation_id = $1 AND acknowledged_at IS NULL AND period_id IS NOT NULL AND NOT (period_id = ANY($2))`,
    [organisationId, [...currentPeriodIds]],
  );
  return result.rowCount ?? 0;
}

/** Marks an alert as handed to its channels. False when there is no such alert or it is marked already. */
export async function markAlertDispatched(client: SqlClient, alertId: string): Promise<boolean> {
  const result = await client.query(
    `UPDATE alerts SET detail = detail || jsonb_build_object('dispatchedAt', now()) WHERE id = $1 AND NOT detail ? 'dispatchedAt'`,
    [alertId],
  );
  return result.rowCount === 1;
}

export interface BudgetStanding {
  readonly budgetId: string;
  readonly periodId: string;
  readonly meter: string;
  readonly ladder: string | null;
  /** Settled in the ledger, with what the budget opened with. */
  readonly settled: bigint;
  /** Limit and the grants of now. */
  readonly limit: bigint;
}

/**
 * How these budgets stand in these periods, by ledger and limits of now. Archived budgets are left out, and those of each end user:
 * one person at his limit is no matter for the company's alerts.
 */
export async function listStandings(
  client: SqlClient,
  organisationId: string,
  wanted: readonly { readonly budgetId: string; readonly periodId: string }[],
): Promise<BudgetStanding[]> {
  if (wanted.length === 0) return [];
  const result = await client.query<{
    budget_id: string;
    period_id: string;
    meter: string;
    ladder: string | null;
    settled: string;
    usable: string;
  }>(
    `SELECT b.id AS budget_id, r.period_id, b.meter, b.ladder,
       r.amount + CASE WHEN b.opening_period_id = r.period_id THEN b.opening_amount ELSE 0 END AS settled,
       b.limit_amount + COALESCE((SELECT sum(g.amount) FROM grants g WHERE g.budget_id = b.id AND g.period_id = r.period_id
         AND g.revoked_at IS NULL AND g.starts_at <= now() AND g.ends_at > now()), 0) AS usable
     FROM unnest($2::text[], $3::text[]) AS w(budget_id, period_id)
     JOIN budget_rollups r ON r.organisation_id = $1 AND r.budget_id = w.budget_id AND r.period_id = w.period_id
     JOIN budgets b ON b.id = r.budget_id AND b.organisation_id = $1 AND b.archived_at IS NULL AND NOT b.per_end_user`,
    [organisationId, wanted.map((one) => one.budgetId), wanted.map((one) => one.periodId)],
  );
  return result.rows.map((row) => ({
    budgetId: row.budget_id,
    periodId: row.period_id,
    meter: row.meter,
    ladder: row.ladder,
    settled: BigInt(row.settled),
    limit: BigInt(row.usable),
  }));
}

/** Budgets and periods whose ledger sum changed after `since`. */
export async function listRecentRollups(
  client: SqlClient,
  organisationId: string,
  since: Date,
): Promise<{ budgetId: string; periodId: string }[]> {
  const result = await client.query<{ budgetId: string; periodId: string }>(
    `SELECT budget_id AS "budgetId", period_id AS "periodId" FROM budget_rollups WHERE organisation_id = $1 AND updated_at > $2`,
    [organisationId, since],
  );
  return result.rows;
}

/** Ladders by name from the active policy versions of the organisation: name and rungs in basis points. */
export async function listLadderRungs(client: SqlClient, organisationId: string): Promise<Map<string, number[]>> {
  const result = await client.query<{ name: string; rungs: number[] }>(
    `SELECT ladder.key AS name, ARRAY(SELECT (rung->>'atBasisPoints')::int FROM jsonb_array_elements(ladder.value->'rungs') AS rung) AS rungs
     FROM policies p JOIN policy_versions v ON v.id = p.active_version_id
     CROSS JOIN LATERAL jsonb_each(COALESCE(v.document->'ladders', '{}'::jsonb)) AS ladder
     WHERE p.organisation_id = $1`,
    [organisationId],
  );
  return new Map(result.rows.map((row) => [row.name, row.rungs]));
}

/** Models served since then at this price. */
export async function listModelsPricedBy(
  client: SqlClient,
  organisationId: string,
  priceId: string,
  bookedSince: Date,
): Promise<string[]> {
  const result = await client.query<{ model: string }>(
    `SELECT DISTINCT model_served AS model FROM ledger_entries
     WHERE organisation_id = $1 AND booked_at > $3 AND price_id = $2 ORDER BY 1 LIMIT 1000`,
    [organisationId, priceId, bookedSince],
  );
  return result.rows.map((row) => row.model);
}
