/**
 * Brings changes from Postgres to Redis. The outbox and the epoch are read in one consistent view, pushed by one script
 * that never goes backwards, and only then dropped. So two publishers at once, a process that dies at any line and a
 * Redis that lost its data all end in the same state; at worst something is pushed twice.
 */
import { randomUUID } from "node:crypto";
import { inTransaction } from "@/lib/db/client";
import { findOrganisation, listOrganisations, notePublished, raiseEpoch } from "@/lib/db/organisations";
import { listSnapshotChanges } from "@/lib/db/snapshot-changes";
import type { Organisation } from "@/lib/domain/entities";
import { beginPublication, endPublication } from "@/lib/redis/publication";
import { pushSnapshot, readPublishedEpoch } from "@/lib/redis/snapshot-publisher";
import type { SnapshotPush } from "@/lib/redis/snapshot-publisher";
import type { PublishDeps } from "./deps";
import { compileSnapshot, wantedBy } from "./snapshot-compile";

export interface PublishResult {
  /** `idle`: nothing was pending. `already`: Redis had it. `part` / `whole`: what was pushed. */
  readonly outcome: "idle" | "already" | "part" | "whole";
  /** Epoch of the database that Redis holds now. */
  readonly epoch: bigint;
}

interface Read {
  readonly organisation: Organisation;
  readonly push: SnapshotPush;
  readonly changeIds: readonly bigint[];
}

const PUBLISH_TIMEOUT_MS = 2_000;
const FORCED_ATTEMPTS = 5;

/** Pushes what is pending of one organisation; the whole when Redis turns out to have lost an earlier push. */
export async function publishChanges(deps: PublishDeps, organisationId: string): Promise<PublishResult> {
  const pending = await readPending(deps, organisationId);
  if (pending === null) return { outcome: "idle", epoch: 0n };
  const isRaised = pending.organisation.publishedEpoch < pending.organisation.snapshotEpoch;
  if (pending.changeIds.length === 0 && !isRaised) {
    return { outcome: "idle", epoch: pending.organisation.snapshotEpoch };
  }
  // An epoch raised without a change: somebody means to send the whole and is slow, or died. An empty part under that
  // epoch would take the whole's place, so what goes out under it is the whole.
  const read = pending.changeIds.length === 0 ? await readWhole(deps, organisationId) : pending;
  if (read === null) return { outcome: "idle", epoch: 0n };
  const { push, changeIds } = read;
  const reply = await pushSnapshot(deps.redis, push);
  if (reply.outcome === "gap") return publishAll(deps, organisationId, { force: true });
  if (reply.outcome === "already" && (await redisIsAhead(deps, organisationId, reply.epoch))) {
    return publishAll(deps, organisationId, { force: true });
  }
  await notePublished(deps.db.prisma, organisationId, push.epoch, changeIds);
  return { outcome: reply.outcome === "published" ? "part" : "already", epoch: reply.epoch };
}

/**
 * Compiles everything. Without `force` only when Redis is behind (at start, costs one read when it is not); with it
 * always, under a new epoch, so that gateways look again: after Redis lost data, and by reconcile to rewrite limits.
 */
export async function publishAll(
  deps: PublishDeps,
  organisationId: string,
  options: { readonly force: boolean },
): Promise<PublishResult> {
  const standing = (await readPublishedEpoch(deps.redis, organisationId)) ?? 0n;
  const present = await findOrganisation(deps.db.prisma, organisationId);
  if (present === null) return { outcome: "idle", epoch: 0n };
  if (!options.force && standing === present.snapshotEpoch) return { outcome: "already", epoch: standing };
  for (let attempt = 1; ; attempt += 1) {
    // A database restored from a backup is behind Redis; its epoch must overtake what stands there to be heard.
    if (options.force || standing > present.snapshotEpoch) {
      await raiseEpoch(deps.db.prisma, organisationId, standing + 1n);
    }
    const read = await readWhole(deps, organisationId);
    if (read === null) return { outcome: "idle", epoch: 0n };
    const reply = await pushSnapshot(deps.redis, read.push);
    // Another publisher that saw the raised epoch first has pushed only what it knew to be pending, which may be nothing:
    // a whole that was forced must stand, under the next epoch.
    if (options.force && reply.outcome !== "published" && attempt < FORCED_ATTEMPTS) continue;
    await notePublished(deps.db.prisma, organisationId, read.push.epoch, read.changeIds);
    return { outcome: reply.outcome === "published" ? "whole" : "already", epoch: reply.epoch };
  }
}

export interface DrainResult {
  readonly published: number;
  /** Organisations whose push failed this time; their rows stay in the outbox. */
  readonly failed: readonly { readonly organisationId: string; readonly error: unknown }[];
}

/**
 * Every organisation that has something pending, or of which Redis stands at an epoch it had already passed (it lost a
 * push with its data). One organisation's failure never holds up another. Once all of them stand there, gateways are told that
 * what they do not find does not exist. Called every second by the worker.
 */
export async function drainChanges(deps: PublishDeps): Promise<DrainResult> {
  const failed: { organisationId: string; error: unknown }[] = [];
  let published = 0;
  const round = await beginPublication(deps.redis, randomUUID());
  for (const organisation of await listOrganisations(deps.db.prisma)) {
    try {
      if (organisation.snapshotEpoch > organisation.publishedEpoch) {
        await publishChanges(deps, organisation.id);
        published += 1;
      } else if (organisation.publishedEpoch > ((await readPublishedEpoch(deps.redis, organisation.id)) ?? 0n)) {
        await publishAll(deps, organisation.id, { force: true });
        published += 1;
      }
    } catch (error) {
      failed.push({ organisationId: organisation.id, error });
    }
  }
  if (failed.length === 0) await endPublication(deps.redis, round);
  return { published, failed };
}

/**
 * The push right after a commit. It never fails the write, which already stands: when Redis does not answer in time the
 * outbox brings the change there later, and `onPublishFailure` is told.
 */
export async function publishAfterCommit(deps: PublishDeps, organisationId: string): Promise<void> {
  if (deps.publishes === false) return;
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error("publishing timed out")), PUBLISH_TIMEOUT_MS);
  });
  try {
    await Promise.race([publishChanges(deps, organisationId), timeout]);
  } catch (error) {
    deps.onPublishFailure?.(organisationId, error);
  } finally {
    clearTimeout(timer);
  }
}

async function readPending(deps: PublishDeps, organisationId: string): Promise<Read | null> {
  return inTransaction(
    deps.db,
    async (tx) => {
      const organisation = await findOrganisation(tx, organisationId);
      if (organisation === null) return null;
      const changes = await listSnapshotChanges(tx, organisationId);
      const compiled = await compileSnapshot(tx, organisation, wantedBy(changes), deps.clock.nowMs());
      return toRead(organisation, "part", compiled, changes);
    },
    { isolation: "RepeatableRead" },
  );
}

async function readWhole(deps: PublishDeps, organisationId: string): Promise<Read | null> {
  return inTransaction(
    deps.db,
    async (tx) => {
      const organisation = await findOrganisation(tx, organisationId);
      if (organisation === null) return null;
      const changes = await listSnapshotChanges(tx, organisationId);
      const compiled = await compileSnapshot(tx, organisation, "whole", deps.clock.nowMs());
      return toRead(organisation, "whole", compiled, changes);
    },
    { isolation: "RepeatableRead", timeoutMs: 60_000 },
  );
}

function toRead(
  organisation: Organisation,
  mode: SnapshotPush["mode"],
  compiled: Awaited<ReturnType<typeof compileSnapshot>>,
  changes: readonly { readonly id: bigint }[],
): Read {
  const { id: organisationId, snapshotEpoch: epoch, publishedEpoch } = organisation;
  return {
    organisation,
    push: { organisationId, epoch, publishedEpoch, mode, ...compiled },
    changeIds: changes.map((change) => change.id),
  };
}

/** Whether Redis stands at an epoch that the database never reached, which only a restored backup explains. */
async function redisIsAhead(deps: PublishDeps, organisationId: string, redisEpoch: bigint): Promise<boolean> {
  const present = await findOrganisation(deps.db.prisma, organisationId);
  return present !== null && redisEpoch > present.snapshotEpoch;
}
