/** What counters are computed from, read in one consistent view. */
import type { SqlClient, SqlPool } from "./pool";

export interface CounterSources {
  readonly snapshotEpoch: bigint;
  readonly correctionSequence: bigint;
  /** Whether the ledger has anything at all of this organisation. */
  readonly hasHistory: boolean;
  readonly createdAt: Date;
  readonly counters: readonly CounterSource[];
  /** UTC day (2026-01-31) to price currency to nanos. */
  readonly books: ReadonlyMap<string, ReadonlyMap<string, bigint>>;
}

export interface CounterSource {
  readonly budgetId: string;
  readonly periodId: string;
  /** Sum of booked lines. */
  readonly booked: bigint;
  readonly opening: bigint;
}

/** Days of the book kept in Redis. */
export const BOOK_DAYS = 40;
const DAY_MS = 86_400_000;

/** Periods that may still see a charge or a question: ended at most a week or so ago. Ids sort as their dates do. */
function firstPeriodIds(nowMs: number): string[] {
  const date = (days: number) => new Date(nowMs - days * DAY_MS).toISOString().slice(0, 10);
  return [
    `D${date(9)}`,
    `W${date(16)}`,
    `M${date(40).slice(0, 7)}`,
    `Q${date(101).slice(0, 7)}`,
    `Y${date(375).slice(0, 7)}`,
  ];
}

export async function readCounterSources(
  pool: SqlPool,
  organisationId: string,
  nowMs: number,
): Promise<CounterSources | null> {
  const client = await pool.connect();
  try {
    await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    const sources = await readSources(client, organisationId, nowMs);
    await client.query("COMMIT");
    return sources;
  } catch (error) {
    await client.query("ROLLBACK").catch(() => undefined);
    throw error;
  } finally {
    client.release();
  }
}

async function readSources(client: SqlClient, organisationId: string, nowMs: number): Promise<CounterSources | null> {
  const organisation = await client.query<{
    snapshot_epoch: string;
    correction_sequence: string;
    has_history: boolean;
    created_at: Date;
  }>(
    `SELECT snapshot_epoch, correction_sequence, created_at,
       EXISTS (SELECT 1 FROM usage_rollups WHERE organisation_id = $1) AS has_history
     FROM organisations WHERE id = $1`,
    [organisationId],
  );
  const row = organisation.rows[0];
  if (row === undefined) return null;
  const counters = await client.query<{ budget_id: string; period_id: string; booked: string; opening: string }>(
    `SELECT budget_id, period_id, sum(booked)::bigint AS booked, sum(opening)::bigint AS opening FROM (
       SELECT budget_id, period_id, amount AS booked, 0::bigint AS opening FROM budget_rollups WHERE organisation_id = $1
       UNION ALL
       SELECT id, opening_period_id, 0, opening_amount FROM budgets
       WHERE organisation_id = $1 AND opening_period_id IS NOT NULL AND opening_amount <> 0) AS parts
     WHERE period_id >= (SELECT first FROM unnest($2::text[]) AS first WHERE left(first, 1) = left(period_id, 1))
     GROUP BY 1, 2`,
    [organisationId, firstPeriodIds(nowMs)],
  );
  const books = await client.query<{ day: string; price_currency: string; amount: string }>(
    `SELECT to_char(bucket_start AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, price_currency, sum(price_amount)::bigint AS amount
     FROM usage_rollups WHERE organisation_id = $1 AND bucket_start >= $2 GROUP BY 1, 2`,
    [organisationId, new Date(Math.floor(nowMs / DAY_MS - BOOK_DAYS) * DAY_MS)],
  );
  const byDay = new Map<string, Map<string, bigint>>();
  for (const { day, price_currency: currency, amount } of books.rows) {
    const amounts = byDay.get(day) ?? new Map<string, bigint>();
    byDay.set(day, amounts.set(currency, BigInt(amount)));
  }
  return {
    snapshotEpoch: BigInt(row.snapshot_epoch),
    correctionSequence: BigInt(row.correction_sequence),
    hasHistory: row.has_history,
    createdAt: row.created_at,
    counters: counters.rows.map((counter) => ({
      budgetId: counter.budget_id,
      periodId: counter.period_id,
      booked: BigInt(counter.booked),
      opening: BigInt(counter.opening),
    })),
    books: byDay,
  };
}

/** Ids of all organisations. */
export async function listOrganisationIds(client: SqlClient): Promise<string[]> {
  return (await client.query<{ id: string }>(`SELECT id FROM organisations ORDER BY id`)).rows.map((row) => row.id);
}
