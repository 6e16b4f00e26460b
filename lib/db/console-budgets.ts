/** Budgets as the console shows them: limits, grants in force, what the ledger has booked, and who changed what. */
import type { Enforcement, Environment, Meter } from "@/lib/domain/snapshot";
import type { PeriodKind } from "@/lib/domain/period";
import type { SqlClient } from "./pool";

export interface BudgetRow {
  readonly id: string;
  readonly consumerId: string | null;
  readonly apiKeyId: string | null;
  readonly providerId: string | null;
  readonly deploymentId: string | null;
  readonly name: string;
  readonly meter: Meter;
  readonly periodKind: PeriodKind;
  readonly limitAmount: bigint;
  readonly overflowAmount: bigint;
  readonly enforcement: Enforcement;
  readonly ladder: string | null;
  readonly environment: Environment | null;
  readonly models: readonly string[];
  readonly classes: readonly string[];
  readonly perEndUser: boolean;
  readonly frozen: boolean;
  readonly limitVersion: bigint;
  readonly openingPeriodId: string | null;
  readonly openingAmount: bigint;
}

type BudgetSqlRow = Omit<BudgetRow, "limitAmount" | "overflowAmount" | "limitVersion" | "openingAmount"> & {
  readonly limitAmount: string;
  readonly overflowAmount: string;
  readonly limitVersion: string;
  readonly openingAmount: string;
};

/** Every budget that is not archived, oldest first. */
export async function listLiveBudgets(sql: SqlClient, organisationId: string): Promise<BudgetRow[]> {
  const { rows } = await sql.query<BudgetSqlRow>(
    `SELECT id, consumer_id AS "consumerId", api_key_id AS "apiKeyId", provider_id AS "providerId",
            deployment_id AS "deploymentId", name, meter, period_kind AS "periodKind",
            limit_amount AS "limitAmount", overflow_amount AS "overflowAmount", enforcement, ladder, environment,
            models, classes, per_end_user AS "perEndUser", frozen_at IS NOT NULL AS frozen, limit_version AS "limitVersion",
            opening_period_id AS "openingPeriodId", opening_amount AS "openingAmount"
       FROM budgets WHERE organisation_id = $1 AND archived_at IS NULL ORDER BY created_at, id`,
    [organisationId],
  );
  return rows.map((row) => ({
    ...row,
    limitAmount: BigInt(row.limitAmount),
    overflowAmount: BigInt(row.overflowAmount),
    limitVersion: BigInt(row.limitVersion),
    openingAmount: BigInt(row.openingAmount),
  }));
}

export interface GrantRow {
  readonly id: string;
  readonly budgetId: string;
  readonly periodId: string;
  readonly amount: bigint;
  readonly startsAtMs: number;
  readonly endsAtMs: number;
  readonly reason: string;
}

/** Grants that count at the instant, oldest first. Whether the period is the current one is the caller's to check. */
export async function listGrantsInForce(sql: SqlClient, organisationId: string, nowMs: number): Promise<GrantRow[]> {
  const { rows } = await sql.query<{
    id: string;
    budgetId: string;
    periodId: string;
    amount: string;
    startsAt: Date;
    endsAt: Date;
    reason: string;
  }>(
    `SELECT id, budget_id AS "budgetId", period_id AS "periodId", amount, starts_at AS "startsAt", ends_at AS "endsAt", reason
       FROM grants WHERE organisation_id = $1 AND revoked_at IS NULL AND starts_at <= $2 AND ends_at > $2
      ORDER BY created_at, id`,
    [organisationId, new Date(nowMs)],
  );
  return rows.map(({ startsAt, endsAt, amount, ...row }) => ({
    ...row,
    amount: BigInt(amount),
    startsAtMs: startsAt.getTime(),
    endsAtMs: endsAt.getTime(),
  }));
}

/** What the ledger has booked, by `budgetId periodId`. */
export async function readBudgetRollups(
  sql: SqlClient,
  organisationId: string,
  periodIds: readonly string[],
): Promise<ReadonlyMap<string, bigint>> {
  const { rows } = await sql.query<{ budgetId: string; periodId: string; amount: string }>(
    `SELECT budget_id AS "budgetId", period_id AS "periodId", amount FROM budget_rollups
      WHERE organisation_id = $1 AND period_id = ANY($2)`,
    [organisationId, periodIds],
  );
  return new Map(rows.map((row) => [`${row.budgetId} ${row.periodId}`, BigInt(row.amount)]));
}

export interface EndUserRollup {
  readonly budgetId: string;
  /** Of the end user: the period's id, a point, and the user's id. */
  readonly periodId: string;
  readonly amount: bigint;
  /** How many end users of this budget and period have spent, this one included. */
  readonly count: number;
}

/** Of budgets that count each end user: those who have spent most, by budget and period. */
export async function readEndUserRollups(
  sql: SqlClient,
  organisationId: string,
  budgets: readonly { readonly budgetId: string; readonly periodId: string }[],
  top: number,
): Promise<EndUserRollup[]> {
  if (budgets.length === 0) return [];
  const { rows } = await sql.query<{ budgetId: string; periodId: string; amount: string; count: string }>(
    `SELECT budget_id AS "budgetId", period_id AS "periodId", amount, count
       FROM (SELECT r.budget_id, r.period_id, r.amount, count(*) OVER (PARTITION BY r.budget_id) AS count,
                    row_number() OVER (PARTITION BY r.budget_id ORDER BY r.amount DESC, r.period_id) AS place
               FROM unnest($2::text[], $3::text[]) AS b(budget_id, period_id)
               JOIN budget_rollups r ON r.organisation_id = $1 AND r.budget_id = b.budget_id
                AND starts_with(r.period_id, b.period_id || '.')) AS ranked
      WHERE place <= $4 ORDER BY budget_id, place`,
    [organisationId, budgets.map((one) => one.budgetId), budgets.map((one) => one.periodId), top],
  );
  return rows.map(({ amount, count, ...row }) => ({ ...row, amount: BigInt(amount), count: Number(count) }));
}

export interface AuditRow {
  readonly id: string;
  readonly atMs: number;
  readonly actor: string;
  readonly action: string;
  readonly before: unknown;
  readonly after: unknown;
}

const MAX_HISTORY = 100;

/** The newest changes of one object, newest first. */
export async function listAuditOf(
  sql: SqlClient,
  organisationId: string,
  objectType: string,
  objectIds: readonly string[],
): Promise<AuditRow[]> {
  const { rows } = await sql.query<Omit<AuditRow, "atMs"> & { at: Date }>(
    `SELECT id, created_at AS at, actor_label AS actor, action, before, after FROM audit_log
      WHERE organisation_id = $1 AND object_type = ANY(ARRAY[$2, 'grant']) AND object_id = ANY($3)
      ORDER BY created_at DESC, id DESC LIMIT ${MAX_HISTORY}`,
    [organisationId, objectType, objectIds],
  );
  return rows.map(({ at, ...row }) => ({ ...row, atMs: at.getTime() }));
}

/** Ids of every grant that a budget ever had: their changes belong to its history. */
export async function listGrantIds(sql: SqlClient, organisationId: string, budgetId: string): Promise<string[]> {
  const { rows } = await sql.query<{ id: string }>(
    `SELECT id FROM grants WHERE organisation_id = $1 AND budget_id = $2 ORDER BY created_at DESC LIMIT ${MAX_HISTORY}`,
    [organisationId, budgetId],
  );
  return rows.map((row) => row.id);
}
