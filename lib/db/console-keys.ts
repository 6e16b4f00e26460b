/** API keys for the console's list. Secrets are hashes in another table and are never selected. */
import type { Environment } from "@/lib/domain/snapshot";
import type { SqlClient } from "./pool";

export interface ApiKeyRow {
  readonly id: string;
  readonly appId: string;
  readonly name: string;
  readonly environment: Environment;
  readonly trafficClass: string;
  readonly entitledClasses: readonly string[];
  readonly allowedIps: readonly string[];
  readonly scopes: readonly string[];
  readonly isVip: boolean;
  readonly createdBy: string | null;
  readonly expiresAt: Date | null;
  readonly frozenAt: Date | null;
  readonly revokedAt: Date | null;
  readonly lastUsedAt: Date | null;
  readonly createdAt: Date;
}

export interface ApiKeySecretRow {
  readonly apiKeyId: string;
  readonly prefix: string;
  readonly lastFour: string;
  readonly validUntil: Date | null;
  readonly createdAt: Date;
}

export interface ApiKeySearch {
  readonly organisationId: string;
  /** Apps whose keys may be seen. */
  readonly appIds: readonly string[];
  /** Part of the name, of the app's name, or of what is shown of the secret. Empty: no filter. */
  readonly text: string;
  readonly state: "all" | "active" | "expiring" | "expired" | "frozen" | "revoked";
  readonly nowMs: number;
  /** "Expiring" means before this instant. */
  readonly soonMs: number;
  readonly afterId: string | null;
  readonly limit: number;
}

const STATE = `CASE WHEN k.revoked_at IS NOT NULL THEN 'revoked'
  WHEN k.frozen_at IS NOT NULL THEN 'frozen'
  WHEN k.expires_at <= $5 THEN 'expired'
  WHEN k.expires_at <= $6 THEN 'expiring' ELSE 'active' END`;
const MATCH = `k.organisation_id = $1 AND k.app_id = ANY($2)
  AND ($3 = '' OR k.name ILIKE '%' || $3 || '%' OR c.name ILIKE '%' || $3 || '%' OR k.id = $7 OR EXISTS (
    SELECT 1 FROM api_key_secrets s WHERE s.api_key_id = k.id AND (s.last_four = $7 OR $7 LIKE s.prefix || '%' OR s.prefix ILIKE '%' || $3 || '%')))
  AND ($4 = 'all' OR ${STATE} = $4)`;

/** In ILIKE a person's % and _ are letters. */
function escapeLike(text: string): string {
  return text.replaceAll(/[\\%_]/gu, (sign) => `\\${sign}`);
}

function parametersOf(search: ApiKeySearch): unknown[] {
  const { organisationId, appIds, text, state, nowMs, soonMs } = search;
  return [organisationId, appIds, escapeLike(text), state, new Date(nowMs), new Date(soonMs), text];
}

/** One page, newest key first. */
export async function searchApiKeys(sql: SqlClient, search: ApiKeySearch): Promise<ApiKeyRow[]> {
  const { rows } = await sql.query<ApiKeyRow>(
    `SELECT k.id, k.app_id AS "appId", k.name, k.environment, k.traffic_class AS "trafficClass",
            k.entitled_classes AS "entitledClasses", k.allowed_ips AS "allowedIps", k.scopes, k.is_vip AS "isVip",
            u.name AS "createdBy", k.expires_at AS "expiresAt", k.frozen_at AS "frozenAt", k.revoked_at AS "revokedAt",
            k.last_used_at AS "lastUsedAt", k.created_at AS "createdAt"
       FROM api_keys k JOIN consumers c ON c.id = k.app_id LEFT JOIN users u ON u.id = k.created_by_id
      WHERE ${MATCH} AND ($8::text IS NULL OR (k.created_at, k.id) < (SELECT a.created_at, a.id FROM api_keys a WHERE a.id = $8 AND a.organisation_id = $1))
      ORDER BY k.created_at DESC, k.id DESC LIMIT $9`,
    [...parametersOf(search), search.afterId, search.limit],
  );
  return rows;
}

/** How many match over all pages. */
export async function countApiKeys(sql: SqlClient, search: ApiKeySearch): Promise<number> {
  const { rows } = await sql.query<{ count: string }>(
    `SELECT count(*)::text AS count FROM api_keys k JOIN consumers c ON c.id = k.app_id WHERE ${MATCH}`,
    parametersOf(search),
  );
  return Number(rows[0]?.count ?? "0");
}

/** What may be shown of the secrets of these keys, newest first. */
export async function listSecretHints(
  sql: SqlClient,
  organisationId: string,
  keyIds: readonly string[],
): Promise<ApiKeySecretRow[]> {
  const { rows } = await sql.query<ApiKeySecretRow>(
    `SELECT api_key_id AS "apiKeyId", prefix, last_four AS "lastFour", valid_until AS "validUntil", created_at AS "createdAt"
       FROM api_key_secrets WHERE organisation_id = $1 AND api_key_id = ANY($2) ORDER BY created_at DESC`,
    [organisationId, keyIds],
  );
  return rows;
}

/** Names and apps of keys, for labels. */
export async function listKeyNames(
  sql: SqlClient,
  organisationId: string,
  keyIds: readonly string[],
): Promise<{ id: string; name: string; appId: string }[]> {
  const { rows } = await sql.query<{ id: string; name: string; appId: string }>(
    `SELECT id, name, app_id AS "appId" FROM api_keys WHERE organisation_id = $1 AND id = ANY($2)`,
    [organisationId, keyIds],
  );
  return rows;
}
