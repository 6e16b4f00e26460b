/** API keys: a stable identity with one or two hashed secrets below it. */
import type { ApiKey, ApiKeySecret } from "@/lib/domain/entities";
import type { Tx } from "./client";
import type { Prisma } from "./generated/client";
import type { SqlClient } from "./pool";

const secretSelect = {
  hash: true,
  prefix: true,
  lastFour: true,
  validUntil: true,
  createdAt: true,
} satisfies Prisma.ApiKeySecretSelect;
const select = {
  id: true,
  organisationId: true,
  appId: true,
  name: true,
  environment: true,
  trafficClass: true,
  entitledClasses: true,
  isVip: true,
  scopes: true,
  entitledConsumerIds: true,
  allowedIps: true,
  policyId: true,
  createdById: true,
  expiresAt: true,
  frozenAt: true,
  revokedAt: true,
  lastUsedAt: true,
  createdAt: true,
  secrets: { select: secretSelect, orderBy: { createdAt: "desc" } },
} satisfies Prisma.ApiKeySelect;

export async function findApiKey(tx: Tx, organisationId: string, id: string): Promise<ApiKey | null> {
  return tx.apiKey.findFirst({ where: { id, organisationId }, select });
}

/** All keys of the organisation, revoked ones included, newest first. */
export async function listApiKeys(tx: Tx, organisationId: string): Promise<ApiKey[]> {
  return tx.apiKey.findMany({ where: { organisationId }, select, orderBy: [{ createdAt: "desc" }, { id: "desc" }] });
}

export async function listApiKeysById(tx: Tx, organisationId: string, ids: readonly string[]): Promise<ApiKey[]> {
  return tx.apiKey.findMany({ where: { organisationId, id: { in: [...ids] } }, select });
}

/** Ids of the keys of these apps. */
export async function listApiKeyIdsOfApps(
  tx: Tx,
  organisationId: string,
  appIds: readonly string[],
): Promise<string[]> {
  const rows = await tx.apiKey.findMany({
    where: { organisationId, appId: { in: [...appIds] } },
    select: { id: true },
  });
  return rows.map((row) => row.id);
}

export type NewApiKey = Omit<ApiKey, "secrets" | "frozenAt" | "revokedAt" | "lastUsedAt" | "createdAt">;

export async function insertApiKey(tx: Tx, row: NewApiKey, secret: Omit<ApiKeySecret, "createdAt">): Promise<ApiKey> {
  return tx.apiKey.create({
    data: {
      ...row,
      entitledClasses: [...row.entitledClasses],
      scopes: [...row.scopes],
      entitledConsumerIds: [...row.entitledConsumerIds],
      allowedIps: [...row.allowedIps],
      secrets: { create: { ...secret, organisationId: row.organisationId } },
    },
    select,
  });
}

export async function insertApiKeySecret(
  tx: Tx,
  key: Pick<ApiKey, "id" | "organisationId">,
  secret: Omit<ApiKeySecret, "createdAt">,
): Promise<void> {
  await tx.apiKeySecret.create({ data: { ...secret, apiKeyId: key.id, organisationId: key.organisationId } });
}

/** Ends every other secret of the key at `validUntil`, unless it ends earlier. */
export async function endOtherSecrets(tx: Tx, apiKeyId: string, keptHash: string, validUntil: Date): Promise<void> {
  await tx.apiKeySecret.updateMany({
    where: { apiKeyId, hash: { not: keptHash }, OR: [{ validUntil: null }, { validUntil: { gt: validUntil } }] },
    data: { validUntil },
  });
}

export async function updateApiKey(
  tx: Tx,
  id: string,
  changes: Partial<Pick<ApiKey, "name" | "frozenAt" | "revokedAt" | "policyId" | "isVip" | "trafficClass">>,
): Promise<ApiKey> {
  return tx.apiKey.update({ where: { id }, data: changes, select });
}

/** A key and the newest of its calls in a batch. */
export interface UsedKey {
  readonly apiKeyId: string;
  /** Unix ms of the reservation. */
  readonly atMs: number;
}

/** How far the time of last use may lag behind: a key in steady use is not written with every batch. */
const LAST_USE_STEP = "5 seconds";

/**
 * Moves the keys' times of last use forward, never back. A statement of its own, outside of the booking's transaction, and
 * it waits for no row: a booking that held a key's row while it waited for the organisation's would meet a revocation
 * that holds them the other way round. A key that somebody changes at this moment is taken with its next batch.
 */
export async function noteKeyUse(sql: SqlClient, organisationId: string, used: readonly UsedKey[]): Promise<void> {
  if (used.length === 0) return;
  await sql.query({
    name: "note-key-use",
    text: `UPDATE api_keys k SET last_used_at = u.at
      FROM (SELECT a.id, u.at FROM unnest($2::text[], $3::double precision[]) AS n(id, ms)
            CROSS JOIN LATERAL (SELECT to_timestamp(n.ms / 1000.0) AS at) AS u
            JOIN api_keys a ON a.id = n.id AND a.organisation_id = $1
             AND (a.last_used_at IS NULL OR a.last_used_at < u.at - interval '${LAST_USE_STEP}')
            FOR UPDATE OF a SKIP LOCKED) AS u
      WHERE k.id = u.id`,
    values: [organisationId, used.map((one) => one.apiKeyId), used.map((one) => one.atMs)],
  });
}

/** Keys that have a policy of their own. */
export async function listKeysWithPolicy(
  sql: SqlClient,
  organisationId: string,
): Promise<{ readonly id: string; readonly name: string; readonly appId: string; readonly policyId: string }[]> {
  const { rows } = await sql.query<{ id: string; name: string; appId: string; policyId: string }>(
    `SELECT id, name, app_id AS "appId", policy_id AS "policyId" FROM api_keys
      WHERE organisation_id = $1 AND policy_id IS NOT NULL AND revoked_at IS NULL ORDER BY name, id LIMIT 1000`,
    [organisationId],
  );
  return rows;
}
