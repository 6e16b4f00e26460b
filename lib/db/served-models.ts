import type { SqlClient } from "./pool";

export interface ServedModel {
  readonly modelName: string;
  readonly deploymentId: string;
  readonly priceId: string | null;
}

/** Our model behind a provider's name of it, and the price row in force then (Unix ms). Null where no deployment names it. */
export async function findServedModel(
  client: SqlClient,
  organisationId: string,
  providerId: string,
  upstreamModel: string,
  atMs: number,
): Promise<ServedModel | null> {
  const result = await client.query<ServedModel>(
    `SELECT m.name AS "modelName", d.id AS "deploymentId",
       (SELECT p.id FROM prices p WHERE p.model_id = m.id AND p.effective_from <= $4 AND (p.effective_to IS NULL OR p.effective_to > $4)
        ORDER BY p.effective_from DESC LIMIT 1) AS "priceId"
     FROM deployments d JOIN models m ON m.id = d.model_id
     WHERE d.organisation_id = $1 AND d.provider_id = $2 AND d.upstream_model = $3
     ORDER BY d.disabled_at NULLS FIRST, d.id LIMIT 1`,
    [organisationId, providerId, upstreamModel, new Date(atMs)],
  );
  return result.rows[0] ?? null;
}
