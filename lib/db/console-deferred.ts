/** Deferred calls as the console shows them, and how a run and the call that it was deferred from find each other. */
import type { SqlClient } from "./pool";

export interface DeferredLogRow {
  readonly id: string;
  readonly state: string;
  readonly appId: string;
  readonly apiKeyId: string;
  readonly createdAt: Date;
  readonly nextAt: Date;
  readonly deadlineAt: Date;
  readonly endedAt: Date | null;
  readonly tries: number;
  readonly code: string | null;
  readonly runRequestId: string | null;
  readonly requestId: string | null;
  readonly modelRequested: string | null;
}

export interface DeferredSearch {
  readonly organisationId: string;
  /** null: the whole organisation. */
  readonly appIds: readonly string[] | null;
  /** Empty: any. */
  readonly state: string;
  readonly before: { readonly at: Date; readonly id: string } | null;
  readonly limit: number;
}

// The note of a deferred call and its own row are of one moment, so the note is found by the index of times.
const LIST = `
SELECT c.id, c.state, c.app_id AS "appId", c.api_key_id AS "apiKeyId", c.created_at AS "createdAt", c.next_at AS "nextAt",
       c.deadline_at AS "deadlineAt", c.ended_at AS "endedAt", c.tries, c.code, c.run_request_id AS "runRequestId",
       note.request_id AS "requestId", note.model_requested AS "modelRequested"
  FROM deferred_calls c LEFT JOIN LATERAL (
    SELECT request_id, model_requested FROM refusals r
     WHERE r.organisation_id = $1 AND r.refused_at = c.created_at AND r.code = 'deferred' AND r.explanation->>'deferredId' = c.id
     LIMIT 1) AS note ON true
 WHERE c.organisation_id = $1 AND ($2::text[] IS NULL OR c.app_id = ANY($2)) AND ($3 = '' OR c.state = $3)
   AND ($4::timestamptz IS NULL OR (c.created_at, c.id) < ($4, $5))
 ORDER BY c.created_at DESC, c.id DESC LIMIT $6`;

export async function listDeferredCalls(sql: SqlClient, search: DeferredSearch): Promise<DeferredLogRow[]> {
  const { organisationId, appIds, state, before, limit } = search;
  const { rows } = await sql.query<DeferredLogRow>(LIST, [
    organisationId,
    appIds,
    state,
    before?.at ?? null,
    before?.id ?? "",
    limit,
  ]);
  return rows;
}

/** The call that was deferred and run as this one; undefined where it was none, or its row is gone with its answer. */
export async function findDeferredFrom(
  sql: SqlClient,
  organisationId: string,
  runRequestId: string,
): Promise<{ readonly id: string; readonly requestId: string | null } | undefined> {
  const { rows } = await sql.query<{ id: string; requestId: string | null }>(
    `SELECT c.id, r.request_id AS "requestId"
       FROM deferred_calls c LEFT JOIN refusals r
         ON r.organisation_id = $1 AND r.refused_at = c.created_at AND r.code = 'deferred' AND r.explanation->>'deferredId' = c.id
      WHERE c.organisation_id = $1 AND c.run_request_id = $2 LIMIT 1`,
    [organisationId, runRequestId],
  );
  return rows[0];
}
