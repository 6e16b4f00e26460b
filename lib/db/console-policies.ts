/** What the console asks about policies beside their rows: what was done with rollouts, and the calls that a replay goes through. */
import type { SqlClient } from "./pool";

export interface RolloutAuditRow {
  readonly id: string;
  readonly at: Date;
  readonly actor: string;
  readonly action: string;
  readonly versionId: string | null;
  readonly percentBefore: number | null;
  readonly percent: number | null;
}

/** Newest first. The audit row holds the whole rollout on both sides. */
export async function listRolloutAudit(
  sql: SqlClient,
  organisationId: string,
  policyId: string,
  limit: number,
): Promise<RolloutAuditRow[]> {
  const { rows } = await sql.query<RolloutAuditRow>(
    `SELECT a.id, a.created_at AS at, a.actor_label AS actor, a.action, a.after->>'policyVersionId' AS "versionId",
            (a.before->>'percent')::int AS "percentBefore", (a.after->>'percent')::int AS percent
       FROM rollouts r JOIN audit_log a ON a.organisation_id = $1 AND a.object_type = 'rollout' AND a.object_id = r.id
      WHERE r.organisation_id = $1 AND r.policy_id = $2
      ORDER BY a.created_at DESC, a.id DESC LIMIT $3`,
    [organisationId, policyId, limit],
  );
  return rows;
}

export interface PastCallRow {
  readonly appId: string;
  readonly apiKeyId: string | null;
  readonly trafficClass: string;
  readonly model: string;
  readonly ladder: string | null;
  readonly ratioBasisPoints: number | null;
}

// A refusal names its budget and amounts; what the ladder is called stands with the budget.
const PAST_CALLS = `
SELECT "appId", "apiKeyId", "trafficClass", model, ladder, "ratioBasisPoints" FROM (
  (SELECT reserved_at AS at, app_id AS "appId", api_key_id AS "apiKeyId", traffic_class AS "trafficClass", model_requested AS model,
          explanation->>'ladder' AS ladder, (explanation->>'ratioBasisPoints')::numeric::float8 AS "ratioBasisPoints"
     FROM ledger_entries
    WHERE organisation_id = $1 AND reserved_at >= $2 AND kind = 'usage' AND attempt = 0 AND app_id = ANY($3)
    ORDER BY reserved_at DESC LIMIT $4)
  UNION ALL
  (SELECT r.refused_at, r.app_id, r.api_key_id, r.traffic_class, r.model_requested, b.ladder,
          trunc(((r.explanation->>'settled')::numeric + (r.explanation->>'held')::numeric) * 10000
            / NULLIF((r.explanation->>'limit')::numeric, 0))::float8
     FROM refusals r JOIN budgets b ON b.id = r.budget_id
    WHERE r.organisation_id = $1 AND r.refused_at >= $2 AND r.app_id = ANY($3) AND r.model_requested IS NOT NULL
    ORDER BY r.refused_at DESC LIMIT $4)
) AS calls ORDER BY at DESC LIMIT $4`;

/** Calls of these apps, newest first: settled ones, and those that a budget stopped. */
export async function listPastCalls(
  sql: SqlClient,
  organisationId: string,
  appIds: readonly string[],
  sinceMs: number,
  limit: number,
): Promise<PastCallRow[]> {
  const { rows } = await sql.query<PastCallRow>(PAST_CALLS, [organisationId, new Date(sinceMs), appIds, limit]);
  return rows;
}
