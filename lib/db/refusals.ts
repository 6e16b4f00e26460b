/** Refused calls, for the console: no money moved, so this is best effort and never in anybody's way. */
import type { SqlClient } from "./pool";

/** Inserts RefusalEvents given as one JSON array text; rows that stand already are left. Returns how many were new. */
export async function insertRefusals(client: SqlClient, organisationId: string, eventsJson: string): Promise<number> {
  const result = await client.query(
    `INSERT INTO refusals (request_id, refused_at, organisation_id, api_key_id, app_id, consumer_path, environment, traffic_class,
       route, model_requested, status_code, code, budget_id, explanation)
     SELECT "requestId", to_timestamp("refusedAtMs" / 1000.0), $1, "apiKeyId", "appId", "consumerPath", environment, "trafficClass",
       route, "modelRequested", "statusCode", code, "budgetId", NULLIF(explanation, 'null'::jsonb)
     FROM json_to_recordset($2::json) AS e("requestId" text, "refusedAtMs" double precision, "organisationId" text, "apiKeyId" text,
       "appId" text, "consumerPath" text[], environment text, "trafficClass" text, route text, "modelRequested" text,
       "statusCode" integer, code text, "budgetId" text, explanation jsonb)
     WHERE "organisationId" = $1
     ON CONFLICT (refused_at, request_id) DO NOTHING`,
    [organisationId, eventsJson],
  );
  return result.rowCount ?? 0;
}
