/** Files and batches at providers, and whose they are: what the gateways' register is written from. */
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
