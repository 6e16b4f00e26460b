/**
 * The register of files, batches and responses at providers, where gateways read and write it; and the notes by which the worker keeps the
 * same in Postgres. An object and its note are written together, so that neither is without the other.
 */
import type { ChainableCommander, Redis } from "ioredis";
import type { JobMove } from "@/lib/domain/provider-job";
import { jobMove } from "@/lib/domain/provider-job";
import type { ObjectOwner, StoredKind, StoredObject } from "@/lib/domain/stored-object";
import { isOwnedBy, storedObject } from "@/lib/domain/stored-object";
import type { ObjectRegister, StoredPage, StoredPageQuery } from "@/lib/gateway/ports";
import { StoreUnavailable } from "@/lib/gateway/ports";
import type { HotConnection } from "./client";
import type { OrganisationKeys } from "./keys";
import { keysOf } from "./keys";

function fieldOf(kind: StoredKind, id: string): string {
  return `${kind}:${id}`;
}

/** Beside the objects, written by the worker alone. */
function settledField(batchId: string): string {
  return `settled:${batchId}`;
}

function readObject(json: string | null | undefined): StoredObject | undefined {
  return typeof json === "string" ? storedObject.parse(JSON.parse(json)) : undefined;
}

function putInto(multi: ChainableCommander, keys: OrganisationKeys, object: StoredObject): void {
  const { kind, id, environment, appId, createdMs } = object;
  multi.hset(keys.stored, fieldOf(kind, id), JSON.stringify(object));
  multi.zadd(keys.storedIndex(kind, environment, appId), createdMs, id);
}

function removeFrom(multi: ChainableCommander, keys: OrganisationKeys, object: StoredObject): void {
  const { kind, id, environment, appId } = object;
  multi.hdel(keys.stored, fieldOf(kind, id));
  multi.zrem(keys.storedIndex(kind, environment, appId), id);
}

async function run(multi: ChainableCommander): Promise<void> {
  const results = await multi.exec();
  const failed = results?.find(([error]) => error !== null);
  if (!results || failed) throw failed?.[0] ?? new Error("the store dropped a transaction");
}

/** Ids of an owner are looked through in steps of so many, where a filter may leave some out. */
const STEP = 500;

async function listObjects(
  redis: Redis,
  organisationId: string,
  owner: ObjectOwner,
  { kind, after, limit, order, purpose }: StoredPageQuery,
): Promise<StoredPage | undefined> {
  const keys = keysOf(organisationId);
  const index = keys.storedIndex(kind, owner.environment, owner.appId);
  const rank =
    after === null ? -1 : await (order === "desc" ? redis.zrevrank(index, after) : redis.zrank(index, after));
  if (rank === null) return undefined;
  const objects: StoredObject[] = [];
  for (let from = rank + 1; ; from += STEP) {
    const to = from + STEP - 1;
    const ids = await (order === "desc" ? redis.zrevrange(index, from, to) : redis.zrange(index, from, to));
    if (ids.length === 0) return { objects, hasMore: false };
    const texts = await redis.hmget(keys.stored, ...ids.map((id) => fieldOf(kind, id)));
    for (const text of texts) {
      const object = readObject(text);
      if (!object || !isOwnedBy(object, owner) || (purpose !== null && object.object.purpose !== purpose)) continue;
      if (objects.length === limit) return { objects, hasMore: true };
      objects.push(object);
    }
  }
}

export function createObjectRegister(connection: HotConnection): ObjectRegister {
  const { redis } = connection;
  const asking = <T>(work: Promise<T>): Promise<T> =>
    work.catch((error: unknown) => {
      throw new StoreUnavailable("the register of stored objects cannot be reached", 1000, error);
    });
  const write = (organisationId: string, fill: (multi: ChainableCommander, keys: OrganisationKeys) => void) => {
    const multi = redis.multi();
    fill(multi, keysOf(organisationId));
    return asking(run(multi));
  };
  const put = (multi: ChainableCommander, keys: OrganisationKeys, objects: readonly StoredObject[]): void => {
    for (const object of objects) {
      putInto(multi, keys, object);
      multi.xadd(keys.storedNotes, "*", "k", "object", "v", JSON.stringify(object));
    }
  };
  return {
    find: async (organisationId, kind, id) =>
      readObject(await asking(redis.hget(keysOf(organisationId).stored, fieldOf(kind, id)))),
    list: (organisationId, owner, page) => asking(listObjects(redis, organisationId, owner, page)),
    put: (organisationId, objects) =>
      write(organisationId, (multi, keys) => {
        put(multi, keys, objects);
      }),
    remove: (organisationId, object) =>
      write(organisationId, (multi, keys) => {
        removeFrom(multi, keys, object);
        multi.xadd(keys.storedNotes, "*", "k", "gone", "v", JSON.stringify(object));
      }),
    isSettled: async (organisationId, batchId) =>
      (await asking(redis.hexists(keysOf(organisationId).stored, settledField(batchId)))) === 1,
    move: (move, objects) =>
      write(move.facts.organisationId, (multi, keys) => {
        multi.xadd(keys.storedNotes, "*", "k", "job", "v", JSON.stringify(move));
        put(multi, keys, objects);
      }),
  };
}

export type StoredNote =
  | { readonly kind: "object"; readonly object: StoredObject }
  | { readonly kind: "gone"; readonly object: StoredObject }
  | { readonly kind: "job"; readonly move: JobMove };

/** Notes on their way to Postgres, oldest first. One that cannot be read is null. */
export async function readStoredNotes(
  redis: Redis,
  organisationId: string,
  count: number,
): Promise<{ readonly entryId: string; readonly note: StoredNote | null }[]> {
  const entries = await redis.xrange(keysOf(organisationId).storedNotes, "-", "+", "COUNT", count);
  return entries.map(([entryId, fields]) => ({ entryId, note: readNote(fields) }));
}

function readNote(fields: readonly string[]): StoredNote | null {
  const [kind, text = ""] = [fields[fields.indexOf("k") + 1], fields[fields.indexOf("v") + 1]];
  try {
    const value: unknown = JSON.parse(text);
    if (kind === "job") return { kind, move: jobMove.parse(value) };
    return kind === "object" || kind === "gone" ? { kind, object: storedObject.parse(value) } : null;
  } catch {
    return null;
  }
}

/** Takes off what stands in Postgres. */
export async function removeStoredNotes(redis: Redis, organisationId: string, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await redis.xdel(keysOf(organisationId).storedNotes, ...ids);
}

/** Tells gateways how objects stand, of which Postgres knows already. */
export async function tellGateways(
  redis: Redis,
  organisationId: string,
  objects: readonly StoredObject[],
): Promise<void> {
  if (objects.length === 0) return;
  const multi = redis.multi();
  for (const object of objects) putInto(multi, keysOf(organisationId), object);
  await run(multi);
}

/** Takes an object out of the gateways' register, with what is known of its end. */
export async function forgetObject(redis: Redis, organisationId: string, object: StoredObject): Promise<void> {
  const multi = redis.multi();
  const keys = keysOf(organisationId);
  removeFrom(multi, keys, object);
  if (object.kind !== "file") multi.hdel(keys.stored, settledField(object.id));
  await run(multi);
}

/** Tells gateways that what these batches and responses cost stands in the ledger. */
export async function tellSettled(redis: Redis, organisationId: string, batchIds: readonly string[]): Promise<void> {
  if (batchIds.length > 0)
    await redis.hset(keysOf(organisationId).stored, ...batchIds.flatMap((id) => [settledField(id), "1"]));
}

/** Whether the register was written whole on the server that answers now: one that lost its data says no. */
export async function isRegisterWhole(connection: HotConnection, organisationId: string): Promise<boolean> {
  const runId = connection.runId();
  return runId !== undefined && (await connection.redis.get(keysOf(organisationId).storedGeneration)) === runId;
}

/** Says that the register stands on this server. */
export async function noteRegisterWhole(connection: HotConnection, organisationId: string): Promise<void> {
  const runId = connection.runId();
  if (runId !== undefined) await connection.redis.set(keysOf(organisationId).storedGeneration, runId);
}
