/** Files, batches and responses at providers, and whose they are: what the gateways' register is written from. */
import type { StoredKind, StoredObject } from "@/lib/domain/stored-object";
import { storedObject } from "@/lib/domain/stored-object";
import type { SqlClient } from "./pool";

/** Inserts the objects, or notes how they stand now. */
export async function upsertStoredObjects(
  client: SqlClient,
  organisationId: string,
  objects: readonly StoredObject[],
): Promise<void> {
  for (const object of objects) {
    await client.query(
      `INSERT INTO stored_objects (organisation_id, kind, id, facts, created_at)
       VALUES ($1, $2, $3, $4, to_timestamp($5::float8 / 1000.0))
       ON CONFLICT (organisation_id, kind, id) DO UPDATE SET facts = EXCLUDED.facts`,
      [organisationId, object.kind, object.id, JSON.stringify(object), object.createdMs],
    );
  }
}

export async function deleteStoredObject(
  client: SqlClient,
  organisationId: string,
  kind: StoredKind,
  id: string,
): Promise<void> {
  await client.query("DELETE FROM stored_objects WHERE organisation_id = $1 AND kind = $2 AND id = $3", [
    organisationId,
    kind,
    id,
  ]);
}

export interface OwnedObject {
  readonly organisationId: string;
  readonly object: StoredObject;
}

/**
 * Objects that nobody can use any more: responses, batches and what they wrote, made before `beforeMs`, and files that had expired by then
 * at their provider (API reference: file object, `expires_at`, Unix seconds). What still runs is none of them.
 */
export async function listUselessObjects(client: SqlClient, beforeMs: number, limit: number): Promise<OwnedObject[]> {
  const { rows } = await client.query<{ organisation_id: string; facts: unknown }>(
    `SELECT organisation_id, facts FROM stored_objects o
     WHERE ((kind IN ('batch', 'response') OR facts ->> 'batchId' IS NOT NULL) AND created_at < to_timestamp($1::float8 / 1000.0)
         OR jsonb_typeof(facts -> 'object' -> 'expires_at') = 'number'
           AND (facts -> 'object' ->> 'expires_at')::float8 < $1 / 1000.0)
       AND NOT EXISTS (
         SELECT 1 FROM provider_batches b WHERE b.ended_at IS NULL AND b.organisation_id = o.organisation_id
           AND b.batch ->> 'id' = COALESCE(o.facts ->> 'batchId', o.id))
     LIMIT $2`,
    [beforeMs, limit],
  );
  return rows.flatMap(({ organisation_id: organisationId, facts }) => {
    const object = storedObject.safeParse(facts).data;
    return object ? [{ organisationId, object }] : [];
  });
}

/** Page by page in the order of kind and id, after the one named. */
export async function listStoredObjects(
  client: SqlClient,
  organisationId: string,
  after: { readonly kind: string; readonly id: string } | null,
  limit: number,
): Promise<StoredObject[]> {
  const { rows } = await client.query<{ facts: unknown }>(
    `SELECT facts FROM stored_objects WHERE organisation_id = $1 AND (kind, id) > ($2, $3) ORDER BY kind, id LIMIT $4`,
    [organisationId, after?.kind ?? "", after?.id ?? "", limit],
  );
  return rows.flatMap(({ facts }) => storedObject.safeParse(facts).data ?? []);
}
