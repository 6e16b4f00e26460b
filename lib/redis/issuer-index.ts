/**
 * Which organisation answers for which token issuer: one hash for the whole installation, since a token names its issuer
 * and nothing else. It only chooses whose documents are looked at; what is trusted stands in the organisation's snapshot,
 * and this is derived from it. `v` is raised by every change.
 */
import type { Redis } from "ioredis";
import { z } from "zod";
import { SNAPSHOT_FIELDS, tokenIssuerDocument } from "@/lib/domain/snapshot";
import { ISSUER_INDEX, keysOf } from "./keys";

/** Field of the index that counts its changes; no issuer's id is that short. */
export const INDEX_VERSION = "v";

const entrySchema = z.object({
  organisationId: z.string(),
  issuer: z.string(),
  /** Of opaque tokens; null for signed ones. */
  tokenPrefix: z.string().nullable(),
});
export type IssuerEntry = z.infer<typeof entrySchema>;

/** Entries by issuer id, from the fields of the hash. What cannot be read is left out. */
export function issuerEntries(fields: Readonly<Record<string, string>>): Map<string, IssuerEntry> {
  const entries = new Map<string, IssuerEntry>();
  for (const [id, json] of Object.entries(fields)) {
    if (id === INDEX_VERSION) continue;
    const entry = entrySchema.safeParse(JSON.parse(json));
    if (entry.success) entries.set(id, entry.data);
  }
  return entries;
}

function entryOf(json: string | null | undefined): string | null {
  if (json === null || json === undefined) return null;
  const { organisationId, kind, issuer, tokenPrefix } = tokenIssuerDocument.parse(JSON.parse(json));
  return JSON.stringify({ organisationId, issuer, tokenPrefix: kind === "introspection" ? (tokenPrefix ?? "") : null });
}

/**
 * Brings the index to what the organisation's snapshot in Redis says now: of these issuers, or of all it has and had. Safe
 * to repeat, in any order. Throws what the connection throws.
 */
export async function indexIssuers(
  redis: Redis,
  organisationId: string,
  fields: Iterable<string>,
  isWhole: boolean,
): Promise<void> {
  const prefix = SNAPSHOT_FIELDS.issuer("");
  const ids = new Set<string>();
  for (const field of fields) if (field.startsWith(prefix)) ids.add(field.slice(prefix.length));
  if (ids.size === 0 && !isWhole) return;
  const standing = await redis.hgetall(ISSUER_INDEX);
  if (isWhole) {
    for (const [id, entry] of issuerEntries(standing)) if (entry.organisationId === organisationId) ids.add(id);
  }
  if (ids.size === 0) return;
  const names = [...ids];
  const documents = await redis.hmget(keysOf(organisationId).snapshot, ...names.map(SNAPSHOT_FIELDS.issuer));
  const change = redis.multi();
  let isChanged = false;
  names.forEach((id, index) => {
    const entry = entryOf(documents[index]);
    if (entry === (standing[id] ?? null)) return;
    isChanged = true;
    if (entry === null) change.hdel(ISSUER_INDEX, id);
    else change.hset(ISSUER_INDEX, id, entry);
  });
  if (!isChanged) return;
  const replies = await change.hincrby(ISSUER_INDEX, INDEX_VERSION, 1).exec();
  const failed = replies?.find(([error]) => error)?.[0];
  if (failed) throw failed;
}
