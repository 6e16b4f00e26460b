/** Deferred calls: taken over from the gateways, claimed by one worker at a time, ended once. */
import type { DeferredState } from "@/lib/domain/deferred-call";
import type { Environment } from "@/lib/domain/snapshot";
import type { WebhookPayload } from "@/lib/domain/webhook";
import type { Tx } from "./client";
import type { SqlClient } from "./pool";

export interface NewDeferredCall {
  readonly id: string;
  readonly apiKeyId: string;
  readonly appId: string;
  readonly createdMs: number;
  readonly deadlineMs: number;
  readonly keepSeconds: number;
  readonly box: Buffer;
}

export interface ClaimedDeferredCall extends NewDeferredCall {
  readonly organisationId: string;
  /** Of its key. */
  readonly environment: Environment;
  /** This one included. */
  readonly tries: number;
  readonly breaks: number;
  /** A run before this one had sent it, and ended without a word. */
  readonly wasSent: boolean;
}

/** Inserts a call; one that stands already is left. */
export async function insertDeferredCall(
  client: SqlClient,
  organisationId: string,
  call: NewDeferredCall,
): Promise<void> {
  await client.query(
    `INSERT INTO deferred_calls (id, organisation_id, api_key_id, app_id, state, request_box, next_at, deadline_at, keep_seconds,
       created_at)
     VALUES ($1, $2, $3, $4, 'pending', $5, to_timestamp($6 / 1000.0), to_timestamp($7 / 1000.0), $8, to_timestamp($6 / 1000.0))
     ON CONFLICT (id) DO NOTHING`,
    [call.id, organisationId, call.apiKeyId, call.appId, call.box, call.createdMs, call.deadlineMs, call.keepSeconds],
  );
}

interface Row {
  readonly id: string;
  readonly organisation_id: string;
  readonly environment: Environment;
  readonly api_key_id: string;
  readonly app_id: string;
  readonly request_box: Buffer;
  readonly created_ms: number;
  readonly deadline_ms: number;
  readonly keep_seconds: number;
  readonly tries: number;
  readonly breaks: number;
  readonly was_sent: boolean;
}

/** Claims calls that are due and that nobody has, longest waiting first. */
export async function claimDeferredCalls(
  client: SqlClient,
  nowMs: number,
  leaseMs: number,
  limit: number,
): Promise<ClaimedDeferredCall[]> {
  const { rows } = await client.query<Row>(
    `WITH due AS (
       SELECT id FROM deferred_calls
       WHERE ended_at IS NULL AND next_at <= to_timestamp($1::float8 / 1000.0)
         AND (claimed_until IS NULL OR claimed_until < to_timestamp($1::float8 / 1000.0))
       ORDER BY next_at LIMIT $3 FOR UPDATE SKIP LOCKED)
     UPDATE deferred_calls AS call
     SET state = 'running', tries = tries + 1, claimed_until = to_timestamp(($1::float8 + $2) / 1000.0)
     FROM due WHERE call.id = due.id
     RETURNING call.id, organisation_id, api_key_id, app_id, request_box, keep_seconds, tries, breaks, sent_at IS NOT NULL AS was_sent,
       (SELECT environment FROM api_keys WHERE id = call.api_key_id) AS environment,
       (extract(epoch FROM created_at) * 1000)::float8 AS created_ms, (extract(epoch FROM deadline_at) * 1000)::float8 AS deadline_ms`,
    [nowMs, leaseMs, limit],
  );
  return rows.map((row) => ({
    id: row.id,
    organisationId: row.organisation_id,
    environment: row.environment,
    apiKeyId: row.api_key_id,
    appId: row.app_id,
    createdMs: Math.round(row.created_ms),
    deadlineMs: Math.round(row.deadline_ms),
    keepSeconds: row.keep_seconds,
    box: row.request_box,
    tries: row.tries,
    breaks: row.breaks,
    wasSent: row.was_sent,
  }));
}

/** A claim of a call: the one who tried it last has it. */
export type DeferredClaim = Pick<ClaimedDeferredCall, "id" | "tries">;

/** Extends the claim while the call runs. */
export async function renewDeferredClaim(
  client: SqlClient,
  { id, tries }: DeferredClaim,
  untilMs: number,
): Promise<void> {
  await client.query(
    `UPDATE deferred_calls SET claimed_until = to_timestamp($3::float8 / 1000.0) WHERE id = $1 AND tries = $2 AND ended_at IS NULL`,
    [id, tries, untilMs],
  );
}

/** Writes down that a call is about to be sent. False where another has it by now, or it has ended. */
export async function markDeferredSent(
  client: SqlClient,
  { id, tries }: DeferredClaim,
  nowMs: number,
): Promise<boolean> {
  const marked = await client.query(
    `UPDATE deferred_calls SET sent_at = to_timestamp($3::float8 / 1000.0) WHERE id = $1 AND tries = $2 AND ended_at IS NULL`,
    [id, tries, nowMs],
  );
  return marked.rowCount === 1;
}

export interface DeferredPostponement {
  readonly nextMs: number;
  readonly breaks: number;
  /** Whether it counts as sent from then on. */
  readonly isSent: boolean;
}

/** Gives a claimed call back, to be tried again. False where another has it by now, or it has ended. */
export async function postponeDeferredCall(
  client: SqlClient,
  { id, tries }: DeferredClaim,
  { nextMs, breaks, isSent }: DeferredPostponement,
): Promise<boolean> {
  const postponed = await client.query(
    `UPDATE deferred_calls SET state = 'pending', claimed_until = NULL, next_at = to_timestamp($3::float8 / 1000.0), breaks = $4,
       sent_at = CASE WHEN $5 THEN sent_at END
     WHERE id = $1 AND tries = $2 AND ended_at IS NULL`,
    [id, tries, nextMs, breaks, isSent],
  );
  return postponed.rowCount === 1;
}

export interface DeferredCallEnd {
  readonly state: Extract<DeferredState, "done" | "failed" | "cancelled" | "expired">;
  readonly code: string | null;
  readonly answerBox: Buffer | null;
  readonly endedMs: number;
  /** The call that it was run as; null where no run was answered. */
  readonly runRequestId: string | null;
}

/** What is told of the end, with its address sealed. */
export interface DeferredEndNotice {
  readonly id: string;
  readonly targetBox: Buffer;
  readonly payload: WebhookPayload;
}

/** Ends a call, once, and writes down what is to be told of it in the same statement. */
export async function endDeferredCall(
  client: SqlClient,
  id: string,
  end: DeferredCallEnd,
  notice: DeferredEndNotice | null,
): Promise<void> {
  await client.query(
    `WITH ended AS (
       UPDATE deferred_calls SET state = $2, code = $3, answer_box = $4, claimed_until = NULL, run_request_id = $9,
         ended_at = to_timestamp($5::float8 / 1000.0), prune_at = to_timestamp($5::float8 / 1000.0) + make_interval(secs => keep_seconds)
       WHERE id = $1 AND ended_at IS NULL RETURNING organisation_id, ended_at)
     INSERT INTO webhook_deliveries (id, organisation_id, target_box, payload, created_at)
     SELECT $6, organisation_id, $7, $8, ended_at FROM ended WHERE $6::text IS NOT NULL
     ON CONFLICT (id) DO NOTHING`,
    [
      id,
      end.state,
      end.code,
      end.answerBox,
      end.endedMs,
      notice?.id ?? null,
      notice?.targetBox ?? null,
      notice && JSON.stringify(notice.payload),
      end.runRequestId,
    ],
  );
}

export interface DeferredCallState extends Omit<NewDeferredCall, "box"> {
  readonly state: string;
  /** Of its key. */
  readonly environment: Environment;
}

export async function findDeferredCallState(
  tx: Tx,
  organisationId: string,
  id: string,
): Promise<DeferredCallState | null> {
  const select = {
    id: true,
    apiKeyId: true,
    appId: true,
    createdAt: true,
    deadlineAt: true,
    keepSeconds: true,
    state: true,
  };
  const row = await tx.deferredCall.findFirst({ where: { id, organisationId }, select });
  if (row === null) return null;
  const { createdAt, deadlineAt, ...others } = row;
  const { environment } = await tx.apiKey.findUniqueOrThrow({ where: { id: row.apiKeyId } });
  return { ...others, environment, createdMs: createdAt.getTime(), deadlineMs: deadlineAt.getTime() };
}

/** Has a worker look at a waiting call now. */
export async function wakeDeferredCall(tx: Tx, id: string, now: Date): Promise<void> {
  await tx.deferredCall.updateMany({ where: { id, endedAt: null }, data: { nextAt: now } });
}

/** The hash by which a key may be found now: the newest secret that is still good; undefined where there is none. */
export async function currentKeyHash(
  client: SqlClient,
  organisationId: string,
  apiKeyId: string,
  nowMs: number,
): Promise<string | undefined> {
  const { rows } = await client.query<{ hash: string }>(
    `SELECT hash FROM api_key_secrets
     WHERE organisation_id = $1 AND api_key_id = $2 AND (valid_until IS NULL OR valid_until > to_timestamp($3::float8 / 1000.0))
     ORDER BY created_at DESC LIMIT 1`,
    [organisationId, apiKeyId, nowMs],
  );
  return rows[0]?.hash;
}

/** Drops calls whose answers were kept long enough; returns how many. */
export async function deleteOldDeferredCalls(client: SqlClient, before: Date): Promise<number> {
  const gone = await client.query("DELETE FROM deferred_calls WHERE ended_at IS NOT NULL AND prune_at < $1", [before]);
  return gone.rowCount ?? 0;
}
