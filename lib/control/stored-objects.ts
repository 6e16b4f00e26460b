/**
 * The register of files, batches and responses at providers: gateways write it in Redis, Postgres keeps it. What they noted is taken over
 * every second; a Redis that restarted or lost its data is written anew.
 */
import type { JobHold } from "@/lib/db/provider-jobs";
import { deleteEndedJobs, listEndedIds, moveJob } from "@/lib/db/provider-jobs";
import {
  deleteStoredObject,
  listStoredObjects,
  listUselessObjects,
  upsertStoredObjects,
} from "@/lib/db/stored-objects";
import { readHolds } from "@/lib/redis/kept-reservations";
import type { StoredNote } from "@/lib/redis/stored-objects";
import {
  forgetObject,
  isRegisterWhole,
  noteRegisterWhole,
  readStoredNotes,
  removeStoredNotes,
  tellGateways,
  tellSettled,
} from "@/lib/redis/stored-objects";
import type { BookkeepingDeps } from "./bookkeeping";

const BATCH = 200;

async function takeOver(deps: BookkeepingDeps, organisationId: string, note: StoredNote): Promise<void> {
  const { pool } = deps.db;
  if (note.kind === "object") await upsertStoredObjects(pool, organisationId, [note.object]);
  else if (note.kind === "gone") await deleteStoredObject(pool, organisationId, note.object.kind, note.object.id);
  else {
    const { reservationId } = note.move.facts;
    const hold: JobHold | undefined = (await readHolds(deps.store, organisationId, [reservationId])).get(reservationId);
    await moveJob(pool, note.move, hold ?? null);
  }
}

/** Takes what gateways noted into Postgres, in their order; returns how much. Safe to repeat. Throws what Postgres throws. */
export async function takeOverStored(deps: BookkeepingDeps, organisationId: string): Promise<number> {
  const { redis } = deps.store;
  let taken = 0;
  for (;;) {
    const entries = await readStoredNotes(redis, organisationId, BATCH);
    for (const { entryId, note } of entries) {
      if (note) await takeOver(deps, organisationId, note);
      else deps.log.error({ organisationId, entryId }, "a note of a file or batch cannot be read");
    }
    await removeStoredNotes(
      redis,
      organisationId,
      entries.map(({ entryId }) => entryId),
    );
    taken += entries.length;
    if (entries.length < BATCH) return taken;
  }
}

/** Writes the register where the server that answers now may lack it; returns how many objects. Call after `takeOverStored`. */
export async function restoreRegister(deps: BookkeepingDeps, organisationId: string): Promise<number> {
  if (await isRegisterWhole(deps.store, organisationId)) return 0;
  const { pool } = deps.db;
  let written = 0;
  let after: { kind: string; id: string } | null = null;
  for (;;) {
    const objects = await listStoredObjects(pool, organisationId, after, BATCH);
    await tellGateways(deps.store.redis, organisationId, objects);
    written += objects.length;
    const last = objects.at(-1);
    if (!last || objects.length < BATCH) break;
    after = { kind: last.kind, id: last.id };
  }
  await tellSettled(deps.store.redis, organisationId, await listEndedIds(pool, organisationId));
  await noteRegisterWhole(deps.store, organisationId);
  return written;
}

/** Drops what nobody can use any more, from the gateways' register first; returns how many objects and jobs. Safe to repeat. */
export async function pruneStored(
  deps: Pick<BookkeepingDeps, "db" | "store">,
  beforeMs: number,
): Promise<{ readonly storedObjects: number; readonly providerJobs: number }> {
  const { pool } = deps.db;
  let storedObjects = 0;
  for (;;) {
    const useless = await listUselessObjects(pool, beforeMs, BATCH);
    for (const { organisationId, object } of useless) {
      await forgetObject(deps.store.redis, organisationId, object);
      await deleteStoredObject(pool, organisationId, object.kind, object.id);
    }
    storedObjects += useless.length;
    if (useless.length < BATCH) break;
  }
  return { storedObjects, providerJobs: await deleteEndedJobs(pool, beforeMs) };
}
