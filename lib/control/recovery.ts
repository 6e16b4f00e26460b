/**
 * Recovery: makes an organisation's counters true again on a Redis that restarted, failed over or lost its data, and ends
 * the fence under which gateways refuse meanwhile. Also the first start of an organisation and the rebuild command.
 *
 * Everything before the last step only reads, drains (idempotent) and publishes (absolute values); the last step is one
 * script that refuses when anything moved. So a process may die anywhere, several may try at once (a lock only saves
 * work), and a Redis that restarts in the middle is fenced again by its new run id.
 */
import { LOCKS, withAdvisoryLock, withExclusiveLock } from "@/lib/db/advisory-lock";
import { readCounterSources } from "@/lib/db/counter-sources";
import type { CounterSources } from "@/lib/db/counter-sources";
import { findBooked } from "@/lib/db/ledger-entries";
import { rankOf } from "@/lib/domain/correction";
import type { RebuildOutcome, RebuildPlan } from "@/lib/redis/recovery";
import {
  listSilentGateways,
  raiseRepairFence,
  readDrainedStreamId,
  readEpochText,
  readFence,
  rebuildCounters,
  scanMoneyKeys,
} from "@/lib/redis/recovery";
import { listOpenReservations, readReservations, readStoreTimeMs } from "@/lib/redis/sweeper";
import { ensureBookingGroup, peekUsage, removeBooked } from "@/lib/redis/usage-stream";
import type { BookkeepingDeps } from "./bookkeeping";
import { bookEntries } from "./settlement";

export interface RecoveryDeps extends BookkeepingDeps {
  /** Puts snapshot and absolute limits into Redis; `force` also where it seems to have them. */
  readonly publish: (organisationId: string, options: { readonly force: boolean }) => Promise<void>;
  /**
   * How long after the fence was seen gateways have to make themselves heard: an emptied Redis does not know who was
   * registered, and every gateway registers anew each second. Default 2,500.
   */
  readonly graceMs?: number;
}

/** `waiting`: gateways have not all announced. `busy`: another process is at it. `away`: Redis is not reachable now. */
export type RecoveryOutcome = "sound" | "recovered" | "waiting" | "busy" | "away" | "unsettled";

const GRACE_MS = 2_500;
/** Within this nobody has called a new organisation but in tests, and its first calls need not wait for anybody. */
const NEW_MS = 10_000;
const ATTEMPTS = 20;
/** Entries; each has 32 events at most. */
const DRAIN_BATCH = 100;

/** First seen fenced, by organisation and run id: what the grace is counted from. One per process. */
export class FenceWatch {
  private readonly seen = new Map<string, { runId: string; sinceMs: number; isPublished: boolean }>();

  since(organisationId: string, runId: string, nowMs: number): { sinceMs: number; isPublished: boolean } {
    const known = this.seen.get(organisationId);
    if (known?.runId === runId) return known;
    const fresh = { runId, sinceMs: nowMs, isPublished: false };
    this.seen.set(organisationId, fresh);
    return fresh;
  }

  notePublished(organisationId: string): void {
    const known = this.seen.get(organisationId);
    if (known) known.isPublished = true;
  }

  forget(organisationId: string): void {
    this.seen.delete(organisationId);
  }

  get size(): number {
    return this.seen.size;
  }
}

/**
 * One step towards an unfenced organisation; call it again while it answers anything but `sound` or `recovered`. Cheap
 * where nothing is wrong (one GET). Throws what Redis or Postgres throw; safe to repeat.
 */
export async function recoverOrganisation(
  deps: RecoveryDeps,
  organisationId: string,
  watch: FenceWatch,
): Promise<RecoveryOutcome> {
  const fence = await readFence(deps.store, organisationId);
  if (fence.runId === undefined) return "away";
  if (!fence.isFenced) {
    watch.forget(organisationId);
    return "sound";
  }
  const { runId } = fence;
  const seen = watch.since(organisationId, runId, deps.clock.nowMs());
  const before = await readCounterSources(deps.db.pool, organisationId, deps.clock.nowMs());
  if (before === null) return "sound";
  // Calls of the last seconds may have gone with the data, before any of them was booked. A new organisation had none.
  const isNew = deps.clock.nowMs() - before.createdAt.getTime() < NEW_MS;
  const hadCalls = fence.mayLackCalls && (fence.hasGeneration || before.hasHistory || !isNew);
  if (!seen.isPublished) {
    await deps.publish(organisationId, { force: hadCalls });
    watch.notePublished(organisationId);
  }
  if (fence.mayLackCalls) {
    const silent = await listSilentGateways(deps.store, organisationId, runId, await readStoreTimeMs(deps.store));
    if (silent.length > 0) return "waiting";
    if (hadCalls && deps.clock.nowMs() - seen.sinceMs < (deps.graceMs ?? GRACE_MS)) return "waiting";
  }
  const outcome = await withAdvisoryLock(deps.db.pool, LOCKS.recovery, organisationId, () =>
    rebuild(deps, organisationId, runId),
  );
  if (outcome === null) return "busy";
  if (outcome === "done" || outcome === "sound") watch.forget(organisationId);
  if (outcome === "done") deps.log.info({ organisationId, runId }, "counters were rebuilt and the fence ended");
  return outcome === "done" ? "recovered" : outcome === "sound" ? "sound" : "unsettled";
}

async function rebuild(deps: RecoveryDeps, organisationId: string, runId: string): Promise<RebuildOutcome> {
  let outcome: RebuildOutcome = "stream_moved";
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    await drainUsage(deps, organisationId, runId);
    // Whoever is booking entries of the server before ends first; who comes later finds that server gone.
    const step = await withExclusiveLock(deps.db.pool, LOCKS.booking, organisationId, async () => {
      const plan = await planRebuild(deps, organisationId, runId);
      return plan === null ? null : (await rebuildCounters(deps.store, organisationId, plan)).outcome;
    });
    if (step === null) continue;
    outcome = step;
    if (outcome === "epoch_moved") await deps.publish(organisationId, { force: false });
    else if (outcome !== "stream_moved" && outcome !== "reservations_moved") return outcome;
  }
  return outcome;
}

/** Reads everything the last step needs, in an order in which whatever moves later is noticed; null: look again. */
async function planRebuild(deps: RecoveryDeps, organisationId: string, runId: string): Promise<RebuildPlan | null> {
  const streamId = await readDrainedStreamId(deps.store, organisationId);
  if (streamId === undefined) return null;
  // After the stream was seen empty: whatever was in it is in the ledger by now, and newer entries move its last id.
  const sources = await readCounterSources(deps.db.pool, organisationId, deps.clock.nowMs());
  if (sources === null) return null;
  const reservations = await judgeReservations(deps, organisationId);
  return {
    runId,
    streamId,
    epoch: await epochOf(deps, organisationId, sources),
    appliedSequence: sources.correctionSequence,
    deletedKeys: await scanMoneyKeys(deps.store, organisationId),
    counters: sources.counters.map((counter) => ({
      budgetId: counter.budgetId,
      periodId: counter.periodId,
      settled: counter.booked + counter.opening,
      opening: counter.opening,
    })),
    books: [...sources.books].map(([day, amounts]) => ({ day, amounts })),
    reservations,
  };
}

/**
 * Openings were read from Postgres at its epoch, and a push may set others in Redis. Where Redis has no epoch (an
 * organisation that was never published) there is nothing to disagree with.
 */
async function epochOf(deps: RecoveryDeps, organisationId: string, sources: CounterSources): Promise<string> {
  const standing = await readEpochText(deps.store, organisationId);
  return standing === "" ? "" : sources.snapshotEpoch.toString();
}

/** Books everything in the stream, whoever it was delivered to: booking twice changes nothing. */
async function drainUsage(deps: BookkeepingDeps, organisationId: string, runId: string): Promise<void> {
  const { redis } = deps.store;
  await ensureBookingGroup(redis, organisationId);
  for (;;) {
    const entries = await peekUsage(redis, organisationId, DRAIN_BATCH);
    if (entries.length === 0) return;
    const result = await bookEntries(deps, organisationId, entries, runId);
    await removeBooked(
      redis,
      organisationId,
      entries.map((entry) => entry.id),
      result.dead,
    );
  }
}

const JUDGE_BATCH = 1_000;

/**
 * Every open reservation, and whether its attempt stands in the ledger already (a rollback brought it back to life): such a
 * one is closed, as expired where the ledger only has an estimate, so that a settlement still to come is a late event.
 */
async function judgeReservations(
  deps: BookkeepingDeps,
  organisationId: string,
): Promise<{ id: string; closeAs: "s" | "e" | null }[]> {
  const ids = await listOpenReservations(deps.store, organisationId);
  const judged: { id: string; closeAs: "s" | "e" | null }[] = [];
  for (let from = 0; from < ids.length; from += JUDGE_BATCH) {
    const some = ids.slice(from, from + JUDGE_BATCH);
    const stored = await readReservations(deps.store, organisationId, some);
    const keys = stored.flatMap((reservation) => attemptOf(reservation.headJson) ?? []);
    const ranks = new Map<string, number>();
    for (const entry of await findBooked(deps.db.pool, organisationId, keys)) {
      const id = `${entry.requestId}:${entry.attempt}`;
      ranks.set(id, Math.max(ranks.get(id) ?? 0, rankOf(entry)));
    }
    for (const id of some) {
      const rank = ranks.get(id);
      judged.push({ id, closeAs: rank === undefined ? null : rank === 0 ? "e" : "s" });
    }
  }
  return judged;
}

function attemptOf(headJson: string): { requestId: string; attempt: number; reservedAtMs: number } | null {
  try {
    const head = JSON.parse(headJson) as { requestId?: unknown; attempt?: unknown; reservedAtMs?: unknown };
    const { requestId, attempt, reservedAtMs } = head;
    if (typeof requestId !== "string" || typeof attempt !== "number" || typeof reservedAtMs !== "number") return null;
    return { requestId, attempt, reservedAtMs };
  } catch {
    return null;
  }
}

export interface EnsureOptions {
  /** Give up after this long. Default 15,000. */
  readonly timeoutMs?: number;
}

/**
 * Resolves once the organisation is unfenced: at its creation, in the seed and in tests. Takes well under 200 ms where it
 * has no history. Throws where it takes longer than `timeoutMs`.
 */
export async function ensureGeneration(
  deps: RecoveryDeps,
  organisationId: string,
  options: EnsureOptions = {},
): Promise<void> {
  const watch = new FenceWatch();
  const untilMs = deps.clock.nowMs() + (options.timeoutMs ?? 15_000);
  for (;;) {
    const outcome = await recoverOrganisation(deps, organisationId, watch);
    if (outcome === "sound" || outcome === "recovered") return;
    if (deps.clock.nowMs() > untilMs) throw new Error(`the organisation is still fenced (${outcome})`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** The rebuild command: fences, computes the counters from the ledger and the open reservations, and unfences. */
export async function rebuildOrganisation(deps: RecoveryDeps, organisationId: string): Promise<void> {
  await raiseRepairFence(deps.store, organisationId);
  await ensureGeneration(deps, organisationId, { timeoutMs: 60_000 });
}
