/**
 * Sums over the 15-minute rollups. Every total is one aggregate query over a half-open range, never a sum of pages.
 * Zones cut days at multiples of 15 minutes, so the sum of single days is the sum of the range, to the nano.
 */
import type { SqlClient } from "./pool";

/** Half-open, Unix ms. `appIds` null: the whole organisation. */
export interface UsageRange {
  readonly organisationId: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly appIds: readonly string[] | null;
}

/** Amounts are nanos of the organisation's currency. */
export interface UsageSum {
  readonly requests: bigint;
  readonly inputTokens: bigint;
  readonly outputTokens: bigint;
  readonly amount: bigint;
  readonly savedAmount: bigint;
  readonly downgradeRequests: bigint;
  readonly errorRequests: bigint;
}

interface SumRow {
  readonly key: string;
  readonly rows: string;
  readonly requests: string;
  readonly input: string;
  readonly output: string;
  readonly amount: string;
  readonly saved: string;
  readonly downgrades: string;
  readonly errors: string;
}

// sum() of bigint is numeric: no sum can wrap, and its text has no fraction.
const SUMS = `count(*)::text AS rows, COALESCE(sum(requests), 0)::text AS requests,
  COALESCE(sum(input_tokens), 0)::text AS input, COALESCE(sum(output_tokens), 0)::text AS output,
  COALESCE(sum(amount), 0)::text AS amount, COALESCE(sum(saved_amount), 0)::text AS saved,
  COALESCE(sum(downgrade_requests), 0)::text AS downgrades, COALESCE(sum(error_requests), 0)::text AS errors`;
const WHERE = `organisation_id = $1 AND bucket_start >= $2 AND bucket_start < $3 AND ($4::text[] IS NULL OR app_id = ANY($4))`;

function parametersOf(range: UsageRange): unknown[] {
  return [range.organisationId, new Date(range.startMs), new Date(range.endMs), range.appIds];
}

function toSum(row: SumRow): UsageSum {
  return {
    requests: BigInt(row.requests),
    inputTokens: BigInt(row.input),
    outputTokens: BigInt(row.output),
    amount: BigInt(row.amount),
    savedAmount: BigInt(row.saved),
    downgradeRequests: BigInt(row.downgrades),
    errorRequests: BigInt(row.errors),
  };
}

/** The range's sum; `isEmpty` tells "nothing was recorded" from "nothing was spent". */
export async function sumUsage(sql: SqlClient, range: UsageRange): Promise<UsageSum & { readonly isEmpty: boolean }> {
  const { rows } = await sql.query<SumRow>(
    `SELECT '' AS key, ${SUMS} FROM usage_rollups WHERE ${WHERE}`,
    parametersOf(range),
  );
  const row = rows[0];
  if (row === undefined) throw new Error("An aggregate query always has a row");
  return { ...toSum(row), isEmpty: row.rows === "0" };
}

/** The range's sums by app or by model served, dearest first. */
export async function sumUsageBy(
  sql: SqlClient,
  group: "app" | "model",
  range: UsageRange,
): Promise<(UsageSum & { readonly key: string })[]> {
  const column = group === "app" ? "app_id" : "model_served";
  const { rows } = await sql.query<SumRow>(
    `SELECT ${column} AS key, ${SUMS} FROM usage_rollups WHERE ${WHERE} GROUP BY ${column} ORDER BY sum(amount) DESC, ${column}`,
    parametersOf(range),
  );
  return rows.map((row) => ({ key: row.key, ...toSum(row) }));
}

/** Amount of each span (half-open, in the order given, not overlapping), zero where nothing was booked. */
export async function sumUsageBySpans(
  sql: SqlClient,
  scope: Pick<UsageRange, "organisationId" | "appIds">,
  spans: readonly { readonly startMs: number; readonly endMs: number }[],
): Promise<bigint[]> {
  const { rows } = await sql.query<{ amount: string }>(
    `SELECT COALESCE(sum(u.amount), 0)::text AS amount
       FROM unnest($2::timestamptz[], $3::timestamptz[]) WITH ORDINALITY AS span(starts, ends, position)
       LEFT JOIN usage_rollups u ON u.organisation_id = $1 AND u.bucket_start >= span.starts AND u.bucket_start < span.ends
        AND ($4::text[] IS NULL OR u.app_id = ANY($4))
      GROUP BY span.position ORDER BY span.position`,
    [
      scope.organisationId,
      spans.map((span) => new Date(span.startMs)),
      spans.map((span) => new Date(span.endMs)),
      scope.appIds,
    ],
  );
  return rows.map((row) => BigInt(row.amount));
}

/** When the newest entry was booked, Unix ms; null without any. */
export async function newestBookingMs(sql: SqlClient, organisationId: string): Promise<number | null> {
  const { rows } = await sql.query<{ at: Date | null }>(
    `SELECT max(booked_at) AS at FROM ledger_entries WHERE organisation_id = $1`,
    [organisationId],
  );
  return rows[0]?.at?.getTime() ?? null;
}

/** Calls of each key since an instant. */
export async function countRequestsByKey(
  sql: SqlClient,
  organisationId: string,
  keyIds: readonly string[],
  sinceMs: number,
): Promise<ReadonlyMap<string, number>> {
  const { rows } = await sql.query<{ key: string; requests: string }>(
    `SELECT api_key_id AS key, sum(requests)::text AS requests FROM usage_rollups
      WHERE organisation_id = $1 AND bucket_start >= $2 AND api_key_id = ANY($3) GROUP BY api_key_id`,
    [organisationId, new Date(sinceMs), keyIds],
  );
  return new Map(rows.map((row) => [row.key, Number(row.requests)]));
}
