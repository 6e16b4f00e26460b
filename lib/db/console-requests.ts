/** The request log: usage rows of the ledger and refusals in one order. Keyset pages, newest first. */
import { NOTE_DECISIONS } from "@/lib/domain/usage-event";
import type { SqlClient } from "./pool";

/** Place in the order; a page starts below it. */
export interface RequestCursor {
  readonly atMs: number;
  readonly requestId: string;
  readonly attempt: number;
}

export interface RequestSearch {
  readonly organisationId: string;
  /** null: the whole organisation, calls of unknown keys included. */
  readonly appIds: readonly string[] | null;
  /** Start of a request id; empty: any. */
  readonly requestId: string;
  readonly model: string;
  readonly decision: string;
  /** Outcome of a settled call or code of a refusal; empty: any. */
  readonly outcome: string;
  /** As the caller named it; empty: any. */
  readonly session: string;
  readonly sinceMs: number;
  readonly before: RequestCursor | null;
  readonly limit: number;
}

export interface RequestLogRow {
  readonly at: Date;
  readonly requestId: string;
  readonly attempt: number;
  readonly refused: boolean;
  readonly appId: string | null;
  readonly apiKeyId: string | null;
  readonly environment: string | null;
  readonly trafficClass: string | null;
  readonly modelRequested: string | null;
  readonly modelServed: string | null;
  readonly decision: string;
  readonly outcome: string;
  readonly usage: {
    readonly inputTokens?: number;
    readonly outputTokens?: number;
    readonly cacheReadTokens?: number;
  } | null;
  readonly amount: string | null;
  readonly savedAmount: string | null;
  readonly latencyMs: number | null;
  readonly statusCode: number | null;
  readonly isEstimated: boolean;
}

const NOTES = Object.entries(NOTE_DECISIONS);
/** A call that was answered without a provider stands beside the refusals, but it is none. */
const DECISION = `CASE code ${NOTES.map(([code, decision]) => `WHEN '${code}' THEN '${decision}'`).join(" ")} ELSE 'refused' END`;
const IS_REFUSAL = `code NOT IN (${NOTES.map(([code]) => `'${code}'`).join(", ")})`;

// Each half is cut to the page before the halves are merged, so that either index serves its own order.
const list = (ofSession: string): string => `
WITH calls AS (
  SELECT reserved_at AS at, request_id, attempt, false AS refused, app_id, api_key_id, environment, traffic_class,
         model_requested, model_served, decision, outcome, usage, amount, saved_amount, latency_ms, status_code, is_estimated
    FROM ledger_entries
   WHERE organisation_id = $1 AND reserved_at >= $2 AND kind = 'usage' AND $6 <> 'refused'
     AND ($3::text[] IS NULL OR app_id = ANY($3)) AND ($4 = '' OR starts_with(request_id, $4))
     AND ($5 = '' OR model_served = $5 OR model_requested = $5) AND ($6 = '' OR decision = $6) AND ($7 = '' OR outcome = $7)
     AND ($8::timestamptz IS NULL OR (reserved_at, request_id, attempt) < ($8, $9, $10::int))${ofSession}
   ORDER BY reserved_at DESC, request_id DESC, attempt DESC LIMIT $11
), refused AS (
  SELECT refused_at AS at, request_id, -1 AS attempt, true AS refused, app_id, api_key_id, environment, traffic_class,
         model_requested, NULL AS model_served, ${DECISION} AS decision, code AS outcome, NULL::jsonb AS usage,
         NULL::bigint AS amount, NULL::bigint AS saved_amount, NULL::int AS latency_ms, status_code, false AS is_estimated
    FROM refusals
   WHERE organisation_id = $1 AND refused_at >= $2 AND $6 IN ('', ${DECISION})
     AND ($3::text[] IS NULL OR app_id = ANY($3)) AND ($4 = '' OR starts_with(request_id, $4))
     AND ($5 = '' OR model_requested = $5) AND ($7 = '' OR code = $7)
     AND ($8::timestamptz IS NULL OR (refused_at, request_id, -1) < ($8, $9, $10::int))${ofSession}
   ORDER BY refused_at DESC, request_id DESC LIMIT $11
)
SELECT at, request_id AS "requestId", attempt, refused, app_id AS "appId", api_key_id AS "apiKeyId", environment,
       traffic_class AS "trafficClass", model_requested AS "modelRequested", model_served AS "modelServed", decision, outcome,
       usage, amount, saved_amount AS "savedAmount", latency_ms AS "latencyMs", status_code AS "statusCode",
       is_estimated AS "isEstimated"
  FROM (SELECT * FROM calls UNION ALL SELECT * FROM refused) AS log
 ORDER BY at DESC, request_id DESC, attempt DESC LIMIT $11`;

const LIST = list("");
// Its own text, so that the index of sessions serves it.
const LIST_OF_SESSION = list(" AND explanation ? 'session' AND explanation->>'session' = $12");

export async function searchRequests(sql: SqlClient, search: RequestSearch): Promise<RequestLogRow[]> {
  const { before, session } = search;
  const { rows } = await sql.query<RequestLogRow>(session === "" ? LIST : LIST_OF_SESSION, [
    search.organisationId,
    new Date(search.sinceMs),
    search.appIds,
    search.requestId,
    search.model,
    search.decision,
    search.outcome,
    before === null ? null : new Date(before.atMs),
    before?.requestId ?? "",
    before?.attempt ?? 0,
    search.limit,
    ...(session === "" ? [] : [session]),
  ]);
  return rows;
}

export interface LedgerRow {
  readonly reservedAt: Date;
  readonly attempt: number;
  readonly kind: "usage" | "correction" | "adjustment";
  readonly sequence: number;
  readonly bookedAt: Date;
  readonly settledAt: Date;
  readonly apiKeyId: string | null;
  readonly appId: string | null;
  readonly consumerPath: readonly string[];
  readonly endUser: string | null;
  readonly environment: string;
  readonly trafficClass: string;
  readonly provider: string | null;
  readonly route: string;
  readonly modelRequested: string;
  readonly modelServed: string;
  readonly decision: string;
  readonly rung: number;
  readonly outcome: string;
  readonly isEstimated: boolean;
  readonly isStream: boolean;
  readonly isOverflow: boolean;
  readonly usage: unknown;
  readonly components: unknown;
  readonly priceCurrency: string;
  readonly priceAmount: string;
  readonly fxRate: string | null;
  readonly amount: string;
  readonly savedAmount: string;
  readonly heldAmount: string;
  readonly overageAmount: string;
  readonly lines: unknown;
  readonly latencyMs: number | null;
  readonly firstByteMs: number | null;
  readonly statusCode: number | null;
  readonly explanation: unknown;
}

/** A span of time in which one request's rows must lie, so that one partition is read and not all. */
export interface RequestAddress {
  readonly organisationId: string;
  readonly requestId: string;
  readonly fromMs: number;
  readonly toMs: number;
}

/** Every ledger row of one request, in the order in which they were made. */
export async function listEntriesOfRequest(sql: SqlClient, address: RequestAddress): Promise<LedgerRow[]> {
  const { rows } = await sql.query<LedgerRow>(
    `SELECT e.reserved_at AS "reservedAt", e.attempt, e.kind, e.sequence, e.booked_at AS "bookedAt",
            e.settled_at AS "settledAt", e.api_key_id AS "apiKeyId", e.app_id AS "appId", e.consumer_path AS "consumerPath",
            e.end_user AS "endUser", e.environment, e.traffic_class AS "trafficClass", p.name AS provider, e.route,
            e.model_requested AS "modelRequested", e.model_served AS "modelServed", e.decision, e.rung, e.outcome,
            e.is_estimated AS "isEstimated", e.is_stream AS "isStream", e.is_overflow AS "isOverflow", e.usage, e.components,
            e.price_currency AS "priceCurrency", e.price_amount AS "priceAmount", e.fx_rate AS "fxRate", e.amount,
            e.saved_amount AS "savedAmount", e.held_amount AS "heldAmount", e.overage_amount AS "overageAmount", e.lines,
            e.latency_ms AS "latencyMs", e.first_byte_ms AS "firstByteMs", e.status_code AS "statusCode", e.explanation
       FROM ledger_entries e LEFT JOIN providers p ON p.id = e.provider_id
      WHERE e.organisation_id = $1 AND e.request_id = $2 AND e.reserved_at BETWEEN $3 AND $4
      ORDER BY e.attempt, e.sequence, e.ledger_sequence LIMIT 200`,
    [address.organisationId, address.requestId, new Date(address.fromMs), new Date(address.toMs)],
  );
  return rows;
}

export interface RefusalRow {
  readonly refusedAt: Date;
  readonly requestId: string;
  readonly apiKeyId: string | null;
  readonly appId: string | null;
  readonly consumerPath: readonly string[];
  readonly environment: string | null;
  readonly trafficClass: string | null;
  readonly route: string;
  readonly modelRequested: string | null;
  readonly statusCode: number;
  readonly code: string;
  readonly budgetId: string | null;
  readonly explanation: unknown;
}

const REFUSAL_COLUMNS = `refused_at AS "refusedAt", request_id AS "requestId", api_key_id AS "apiKeyId", app_id AS "appId",
  consumer_path AS "consumerPath", environment, traffic_class AS "trafficClass", route, model_requested AS "modelRequested",
  status_code AS "statusCode", code, budget_id AS "budgetId", explanation`;

export async function findRefusalOfRequest(sql: SqlClient, address: RequestAddress): Promise<RefusalRow | undefined> {
  const { rows } = await sql.query<RefusalRow>(
    `SELECT ${REFUSAL_COLUMNS} FROM refusals
      WHERE organisation_id = $1 AND request_id = $2 AND refused_at BETWEEN $3 AND $4 ORDER BY refused_at DESC LIMIT 1`,
    [address.organisationId, address.requestId, new Date(address.fromMs), new Date(address.toMs)],
  );
  return rows[0];
}

/** The newest refusals. `appIds` null: the whole organisation. */
export async function listNewestRefusals(
  sql: SqlClient,
  organisationId: string,
  appIds: readonly string[] | null,
  limit: number,
): Promise<RefusalRow[]> {
  const { rows } = await sql.query<RefusalRow>(
    `SELECT ${REFUSAL_COLUMNS} FROM refusals
      WHERE organisation_id = $1 AND ($2::text[] IS NULL OR app_id = ANY($2)) AND ${IS_REFUSAL}
      ORDER BY refused_at DESC, request_id DESC LIMIT $3`,
    [organisationId, appIds, limit],
  );
  return rows;
}

export interface DeferredCallRow {
  /** The call that it was run as. */
  readonly runRequestId: string | null;
  readonly state: string;
  readonly tries: number;
  readonly deadlineAt: Date;
  readonly endedAt: Date | null;
}

/** How a call that was taken for later stands; undefined before it was taken over, and after its answer was let go. */
export async function findDeferredCall(
  sql: SqlClient,
  organisationId: string,
  id: string,
): Promise<DeferredCallRow | undefined> {
  const { rows } = await sql.query<DeferredCallRow>(
    `SELECT run_request_id AS "runRequestId", state, tries, deadline_at AS "deadlineAt", ended_at AS "endedAt" FROM deferred_calls
      WHERE organisation_id = $1 AND id = $2`,
    [organisationId, id],
  );
  return rows[0];
}
