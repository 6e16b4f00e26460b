/**
 * The money journal. One statement unpacks a batch of JSON in Postgres, inserts what is new and adds exactly the rows
 * really inserted to both rollups, so that neither a crash nor a redelivery can make them disagree with the ledger.
 *
 * Row key: (reservedAt, requestId, attempt, kind, sequence). The first entry of an attempt is always kind `usage`,
 * sequence 0, however it came about, so an attempt can never have two. Corrections follow as 1, 2, ...
 */
import type { ChargedLine, TokenUsage, UsageEvent } from "@/lib/domain/usage-event";
import type { UsedKey } from "./api-keys";
import type { SqlClient } from "./pool";
import { BUDGET_ROLLUP_SQL, USAGE_ROLLUP_SQL } from "./usage-rollups";

/** A batch as JSON text: `[{ "k": kind of event, "e": UsageEvent, "kind"?, "sequence"?, "counter"? }, ...]`. */
export type LedgerBatchJson = string;

export interface TouchedBudget {
  readonly budgetId: string;
  readonly periodId: string;
  /** Settled in the ledger for this budget and period after the batch. */
  readonly amount: bigint;
}

export interface InsertedBatch {
  readonly inserted: number;
  /** Positions in the batch that were not inserted: late events, other organisations' events, and rows that stood already. */
  readonly rest: readonly number[];
  readonly touched: readonly TouchedBudget[];
  readonly usedKeys: readonly UsedKey[];
}

/** An entry of one attempt as it stands. */
export interface BookedEntry {
  readonly requestId: string;
  readonly attempt: number;
  readonly kind: "usage" | "correction" | "adjustment";
  readonly sequence: number;
  readonly reservedAtMs: number;
  readonly outcome: string;
  readonly isEstimated: boolean;
  readonly priceAmount: bigint;
  readonly amount: bigint;
  readonly savedAmount: bigint;
  readonly usage: TokenUsage;
  readonly lines: readonly ChargedLine[];
}

// json_to_record matches names exactly, and its texts go through the column type's own input function: "12" becomes a bigint,
// while "1e3", "" or a missing field of a required column fail the statement, which the caller answers by looking at each event.
const EVENT_COLUMNS = `
  "organisationId" text, "requestId" text, attempt integer, "reservedAtMs" double precision, "settledAtMs" double precision,
  "apiKeyId" text, "appId" text, "consumerPath" text[], "endUser" text, environment text, "trafficClass" text,
  "providerId" text, "deploymentId" text, route text, "modelRequested" text, "modelServed" text, decision text,
  "rungBasisPoints" integer, outcome text, "isEstimated" boolean, "isStream" boolean, "isOverflow" boolean,
  usage jsonb, components jsonb, "priceId" text, "priceCurrency" text, "priceAmount" bigint, currency text, amount bigint,
  "fxRate" text, "savedAmount" bigint, "heldAmount" bigint, lines jsonb, explanation jsonb,
  "latencyMs" integer, "firstByteMs" integer, "statusCode" integer`;

const INSERT_SQL = `
WITH incoming AS MATERIALIZED (
  SELECT x.n, x.k, x.counter, COALESCE(x.kind, 'usage')::"LedgerKind" AS row_kind, COALESCE(x.sequence, 0) AS row_sequence,
    to_timestamp(e."reservedAtMs" / 1000.0)::timestamptz(3) AS reserved_at, e.*,
    row_number() OVER (PARTITION BY e."reservedAtMs", e."requestId", e.attempt, x.kind, x.sequence, x.k = 'late' ORDER BY x.n) AS turn
  FROM ROWS FROM (json_to_recordset($2::json) AS (k text, e json, kind text, sequence integer, counter bigint))
    WITH ORDINALITY AS x(k, e, kind, sequence, counter, n)
  CROSS JOIN LATERAL json_to_record(x.e) AS e(${EVENT_COLUMNS})
),
inserted AS (
  INSERT INTO ledger_entries (
    reserved_at, request_id, attempt, kind, sequence, counter_sequence, organisation_id, settled_at, api_key_id, app_id,
    consumer_path, end_user, environment, traffic_class, provider_id, deployment_id, route, model_requested, model_served,
    decision, rung, outcome, is_estimated, is_stream, is_overflow, usage, components, price_id, price_currency, price_amount,
    currency, amount, fx_rate, saved_amount, held_amount, overage_amount, lines, explanation, latency_ms, first_byte_ms,
    status_code)
  SELECT reserved_at, "requestId", attempt, row_kind, row_sequence, counter, $1,
    to_timestamp("settledAtMs" / 1000.0), "apiKeyId", "appId", "consumerPath", "endUser", environment, "trafficClass",
    "providerId", "deploymentId", route, "modelRequested", "modelServed", decision, "rungBasisPoints", outcome,
    "isEstimated", "isStream", "isOverflow", usage, components, "priceId", "priceCurrency", "priceAmount", currency, amount,
    "fxRate", "savedAmount", "heldAmount", CASE WHEN row_kind = 'usage' THEN GREATEST(amount - "heldAmount", 0) ELSE 0 END,
    lines, NULLIF(explanation, 'null'::jsonb), "latencyMs", "firstByteMs", "statusCode"
  FROM incoming WHERE "organisationId" = $1 AND k <> 'late' AND turn = 1
  ORDER BY n
  ON CONFLICT (reserved_at, request_id, attempt, kind, sequence) DO NOTHING
  RETURNING *
),
${USAGE_ROLLUP_SQL},
${BUDGET_ROLLUP_SQL}
SELECT
  (SELECT count(*)::int FROM inserted) AS inserted,
  -- The usual batch is all new: then nobody looks for what was left out.
  CASE WHEN (SELECT count(*) FROM inserted) = (SELECT count(*) FROM incoming) THEN '{}'::int[] ELSE (
    SELECT COALESCE(array_agg((n - 1)::int ORDER BY n), '{}') FROM incoming i LEFT JOIN inserted s
      ON s.reserved_at = i.reserved_at AND s.request_id = i."requestId" AND s.attempt = i.attempt
      AND s.kind = i.row_kind AND s.sequence = i.row_sequence
    WHERE s.request_id IS NULL OR "organisationId" IS DISTINCT FROM $1 OR k = 'late' OR turn > 1) END AS rest,
  (SELECT json_agg(json_build_array(budget_id, period_id, amount::text)) FROM budgeted) AS touched,
  (SELECT json_agg(json_build_array(api_key_id, at)) FROM (
    SELECT api_key_id, (extract(epoch FROM max(reserved_at)) * 1000)::bigint AS at FROM inserted
    WHERE kind = 'usage' AND api_key_id IS NOT NULL GROUP BY api_key_id) AS k) AS used`;

interface InsertRow {
  readonly inserted: number;
  readonly rest: readonly number[];
  readonly touched: readonly (readonly [string, string, string])[] | null;
  readonly used: readonly (readonly [string, number])[] | null;
}

/**
 * Inserts what is new of a batch of one organisation, together with the rollups. Must run inside a transaction of the
 * caller. Throws Postgres' error when any event of the batch is not what the columns want; nothing is kept then.
 */
export async function insertLedgerBatch(
  client: SqlClient,
  organisationId: string,
  batch: LedgerBatchJson,
): Promise<InsertedBatch> {
  const result = await client.query<InsertRow>({
    name: "insert-ledger-batch",
    text: INSERT_SQL,
    values: [organisationId, batch],
  });
  const row = result.rows[0];
  if (row === undefined) throw new Error("the ledger insert returned nothing");
  const touched = (row.touched ?? []).map(([budgetId, periodId, amount]) => ({
    budgetId,
    periodId,
    amount: BigInt(amount),
  }));
  const usedKeys = (row.used ?? []).map(([apiKeyId, atMs]) => ({ apiKeyId, atMs }));
  return { inserted: row.inserted, rest: row.rest, touched, usedKeys };
}

/** An entry to add by name: a base entry that a late event lacks, or a correction (amounts and usage are differences). */
export interface LedgerRecord {
  readonly event: UsageEvent;
  readonly kind: "usage" | "correction" | "adjustment";
  readonly sequence: number;
  /** Set where counters do not have the entry's lines yet. */
  readonly counterSequence: bigint | null;
}

/**
 * Inserts entries that must be new: a row that stands already is an error here (the caller decided on what it read under
 * `lockCorrections`, so it must decide again). Counter sequences therefore never have a hole.
 */
export async function insertLedgerRecords(
  client: SqlClient,
  organisationId: string,
  records: readonly LedgerRecord[],
): Promise<readonly TouchedBudget[]> {
  if (records.length === 0) return [];
  const batch = records.map((record) => ({
    k: "settled",
    e: record.event,
    kind: record.kind,
    sequence: record.sequence,
    ...(record.counterSequence === null ? {} : { counter: record.counterSequence.toString() }),
  }));
  const result = await insertLedgerBatch(client, organisationId, JSON.stringify(batch));
  if (result.inserted !== records.length) throw new LedgerRaceError();
  return result.touched;
}

/** Another process booked the same attempt in between; run the whole transaction again. */
export class LedgerRaceError extends Error {
  constructor() {
    super("an entry of this attempt was booked by another process");
    this.name = "LedgerRaceError";
  }
}

/**
 * Takes the organisation's lock for corrections until the transaction ends, and returns the last counter sequence given
 * out. Whoever assigns sequences holds it, so they are committed in order.
 */
export async function lockCorrections(client: SqlClient, organisationId: string): Promise<bigint> {
  const result = await client.query<{ correction_sequence: string }>(
    `SELECT correction_sequence FROM organisations WHERE id = $1 FOR NO KEY UPDATE`,
    [organisationId],
  );
  const row = result.rows[0];
  if (row === undefined) throw new Error("the organisation does not exist");
  return BigInt(row.correction_sequence);
}

/** Under `lockCorrections`. */
export async function saveCorrectionSequence(
  client: SqlClient,
  organisationId: string,
  sequence: bigint,
): Promise<void> {
  await client.query(`UPDATE organisations SET correction_sequence = $2 WHERE id = $1`, [
    organisationId,
    sequence.toString(),
  ]);
}

export interface AttemptKey {
  readonly requestId: string;
  readonly attempt: number;
  readonly reservedAtMs: number;
}

interface BookedRow {
  request_id: string;
  attempt: number;
  kind: BookedEntry["kind"];
  sequence: number;
  reserved_at_ms: string;
  outcome: string;
  is_estimated: boolean;
  price_amount: string;
  amount: string;
  saved_amount: string;
  usage: TokenUsage;
  lines: ChargedLine[];
}

const BOOKED_COLUMNS = `l.request_id, l.attempt, l.kind, l.sequence, (extract(epoch FROM l.reserved_at) * 1000)::bigint AS reserved_at_ms,
  l.outcome, l.is_estimated, l.price_amount, l.amount, l.saved_amount, l.usage, l.lines`;

/** Every entry of the attempts named, first entries first. The reservation times name the partitions to look in. */
export async function findBooked(
  client: SqlClient,
  organisationId: string,
  keys: readonly AttemptKey[],
): Promise<readonly BookedEntry[]> {
  if (keys.length === 0) return [];
  const result = await client.query<BookedRow>(
    `SELECT ${BOOKED_COLUMNS}
     FROM (SELECT DISTINCT to_timestamp(ms / 1000.0)::timestamptz(3) AS at, request_id, attempt
           FROM unnest($2::double precision[], $3::text[], $4::integer[]) AS k(ms, request_id, attempt)) AS k
     JOIN ledger_entries l ON l.reserved_at = k.at AND l.request_id = k.request_id AND l.attempt = k.attempt
     WHERE l.organisation_id = $1 ORDER BY l.ledger_sequence`,
    [
      organisationId,
      keys.map((key) => key.reservedAtMs),
      keys.map((key) => key.requestId),
      keys.map((key) => key.attempt),
    ],
  );
  return result.rows.map(toBooked);
}

function toBooked(row: BookedRow): BookedEntry {
  return {
    requestId: row.request_id,
    attempt: row.attempt,
    kind: row.kind,
    sequence: row.sequence,
    reservedAtMs: Number(row.reserved_at_ms),
    outcome: row.outcome,
    isEstimated: row.is_estimated,
    priceAmount: BigInt(row.price_amount),
    amount: BigInt(row.amount),
    savedAmount: BigInt(row.saved_amount),
    usage: row.usage,
    lines: row.lines,
  };
}

/** An entry whose lines the counters may still lack. */
export interface UnappliedEntry {
  readonly counterSequence: bigint;
  readonly reservedAtMs: number;
  readonly priceCurrency: string;
  readonly priceAmount: bigint;
  readonly lines: readonly ChargedLine[];
}

/** Entries with a counter sequence above `applied`, in order, at most `limit`. */
export async function listUnapplied(
  client: SqlClient,
  organisationId: string,
  applied: bigint,
  limit: number,
): Promise<readonly UnappliedEntry[]> {
  const result = await client.query<{
    counter_sequence: string;
    reserved_at_ms: string;
    price_currency: string;
    price_amount: string;
    lines: ChargedLine[];
  }>(
    `SELECT counter_sequence, (extract(epoch FROM reserved_at) * 1000)::bigint AS reserved_at_ms, price_currency, price_amount, lines
     FROM ledger_entries WHERE organisation_id = $1 AND counter_sequence > $2 ORDER BY counter_sequence LIMIT $3`,
    [organisationId, applied.toString(), limit],
  );
  return result.rows.map((row) => ({
    counterSequence: BigInt(row.counter_sequence),
    reservedAtMs: Number(row.reserved_at_ms),
    priceCurrency: row.price_currency,
    priceAmount: BigInt(row.price_amount),
    lines: row.lines,
  }));
}
