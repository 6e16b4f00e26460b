/**
 * Batches from the moment their provider is asked for one until what they cost stands in the ledger. Each step is written to
 * Postgres before the next, is safe to repeat, and is done by whoever holds the claim: a worker that dies is followed by another.
 */
import type { BatchEnd, BatchJson, BatchStep, ProviderBatch } from "@/lib/db/provider-batches";
import {
  claimDueBatches,
  listKnownBatchIds,
  listOpenBatches,
  renewBatchClaim,
  stepBatch,
} from "@/lib/db/provider-batches";
import { findBooked } from "@/lib/db/ledger-entries";
import { upsertStoredObjects } from "@/lib/db/stored-objects";
import { rankOf } from "@/lib/domain/correction";
import { idTimeMs } from "@/lib/domain/ids";
import type { BatchFacts } from "@/lib/domain/stored-object";
import { hasEnded, nextLookMs, objectsOfBatch } from "@/lib/domain/stored-object";
import { readHolds } from "@/lib/redis/kept-reservations";
import { tellGateways, tellSettled } from "@/lib/redis/stored-objects";
import type { BatchKeeper } from "./batch-keeper";
import type { ReadBatchFile } from "./batch-settlement";
import { endOfBatch, endUnseen } from "./batch-settlement";
import type { BookkeepingDeps } from "./bookkeeping";

/** The provider of a batch. All throw where it cannot be asked. */
export interface BatchProvider {
  /** Undefined where it does not know the batch. */
  readonly batch: (facts: BatchFacts, id: string) => Promise<BatchJson | undefined>;
  /** The newest batches of its account. */
  readonly recent: (facts: BatchFacts) => Promise<readonly BatchJson[]>;
  readonly file: ReadBatchFile;
}

export interface BatchDeps extends BookkeepingDeps {
  readonly keeper: BatchKeeper;
  readonly provider: BatchProvider;
}

const LEASE_MS = 60_000;
const STEPS_AT_ONCE = 4;
/** A provider that cannot be asked is asked again after so long, doubling. */
const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 300_000;
/** Times in a row that a provider does not know a batch before it is believed. */
const MAX_UNKNOWN = 10;
/** A batch ends within a day; of one that cannot be asked about for so long nobody will hear. */
const GIVE_UP_MS = 72 * 3_600_000;
const LOOK_AT_LEDGER_MS = 1_000;
/** Clocks of providers and ours differ. */
const CLOCK_SLACK_MS = 300_000;

type Step = Omit<BatchStep, "atMs" | "tries"> & { readonly inMs: number; readonly tries?: number };

/** Loads what is to be kept; before anything is swept, and every second. */
export async function keepBatches(deps: BatchDeps): Promise<number> {
  const open = await listOpenBatches(deps.db.pool);
  deps.keeper.keep(open);
  return open.length;
}

function settling(batch: ProviderBatch, said: BatchJson | null, end: BatchEnd): Step {
  return { state: "settling", batch: said ?? batch.batch, end, inMs: 0 };
}

/** Tells everybody whose the batch and its files are, and how they stand. */
async function noteObjects(deps: BatchDeps, facts: BatchFacts, said: BatchJson): Promise<void> {
  const objects = objectsOfBatch(facts, facts.model, said);
  await upsertStoredObjects(deps.db.pool, facts.organisationId, objects);
  await tellGateways(deps.store.redis, facts.organisationId, objects);
}

/** A batch whose making nobody saw the end of: it is looked for among those of the account by the caller's own file. */
async function findCreated(deps: BatchDeps, batch: ProviderBatch): Promise<Step> {
  const { facts } = batch;
  const nowMs = deps.clock.nowMs();
  if (nowMs < facts.answerByMs) return { ...batch, inMs: facts.answerByMs - nowMs };
  const ours = (await deps.provider.recent(facts)).filter(
    (one) =>
      one.input_file_id === facts.inputFileId &&
      one.endpoint === facts.endpoint &&
      Number(one.created_at) * 1000 > facts.createdMs - CLOCK_SLACK_MS,
  );
  const known = await listKnownBatchIds(
    deps.db.pool,
    facts.organisationId,
    ours.map(({ id }) => String(id)),
  );
  // Oldest first: those that follow may be of a later call.
  const found = ours.filter(({ id }) => !known.has(String(id))).at(-1);
  if (!found) return settling(batch, null, { result: null });
  await noteObjects(deps, facts, found);
  return { state: "running", batch: found, end: null, inMs: 0 };
}

async function follow(deps: BatchDeps, batch: ProviderBatch): Promise<Step> {
  const { facts, tries } = batch;
  const nowMs = deps.clock.nowMs();
  const said = await deps.provider.batch(facts, String(batch.batch?.id));
  if (!said) {
    if (tries + 1 >= MAX_UNKNOWN) return settling(batch, null, endUnseen(batch, nowMs));
    return { ...batch, inMs: pauseMs(tries), tries: tries + 1 };
  }
  if (JSON.stringify(said) !== JSON.stringify(batch.batch)) await noteObjects(deps, facts, said);
  if (!hasEnded(said)) {
    return { state: "running", batch: said, end: null, inMs: nextLookMs(nowMs - facts.createdMs) };
  }
  return settling(batch, said, await endOfBatch({ ...batch, batch: said }, deps.provider.file, nowMs));
}

/** Whether the end stands: in the ledger, or, where nothing is owed, as a reservation that is open no more. */
async function hasSettled(deps: BatchDeps, { facts, end }: ProviderBatch): Promise<boolean> {
  const { organisationId, reservationId } = facts;
  const result = end?.result ?? null;
  if (result === null) return (await readHolds(deps.store, organisationId, [reservationId])).size === 0;
  const [requestId = "", attempt = "0"] = reservationId.split(":");
  const key = { requestId, attempt: Number(attempt), reservedAtMs: idTimeMs(requestId) ?? 0 };
  const rank = rankOf({ ...result, kind: "usage" });
  return (await findBooked(deps.db.pool, organisationId, [key])).some((entry) => rankOf(entry) >= rank);
}

async function settle(deps: BatchDeps, batch: ProviderBatch): Promise<Step> {
  const { state, batch: said, end } = batch;
  if (!(await hasSettled(deps, batch))) {
    await deps.keeper.end(batch);
    if (!(await hasSettled(deps, batch))) return { state, batch: said, end, inMs: LOOK_AT_LEDGER_MS };
  }
  if (said) await tellSettled(deps.store.redis, batch.facts.organisationId, [String(said.id)]);
  return { state: end?.result ? "settled" : "void", batch: said, end, inMs: 0 };
}

function pauseMs(tries: number): number {
  return Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** tries);
}

async function stepOf(deps: BatchDeps, batch: ProviderBatch): Promise<Step> {
  const nowMs = deps.clock.nowMs();
  try {
    if (batch.state === "creating") return await findCreated(deps, batch);
    if (batch.state === "running") return await follow(deps, batch);
    return await settle(deps, batch);
  } catch (error) {
    const { organisationId, reservationId, createdMs } = batch.facts;
    deps.log.warn({ err: error, organisationId, reservationId }, "a batch could not be looked after");
    if (batch.state !== "settling" && nowMs - createdMs > GIVE_UP_MS) {
      return settling(batch, null, endUnseen(batch, nowMs));
    }
    return { ...batch, inMs: pauseMs(batch.tries), tries: batch.tries + 1 };
  }
}

async function work(deps: BatchDeps, batch: ProviderBatch): Promise<void> {
  const { reservationId } = batch.facts;
  const renewing = setInterval(() => {
    void renewBatchClaim(deps.db.pool, reservationId, deps.clock.nowMs() + LEASE_MS).catch(() => undefined);
  }, LEASE_MS / 4);
  try {
    const { inMs, tries = 0, ...step } = await stepOf(deps, batch);
    await stepBatch(deps.db.pool, reservationId, { ...step, tries, atMs: deps.clock.nowMs() + inMs });
  } finally {
    clearInterval(renewing);
  }
}

/** Does what is due of every batch, so many at once; returns how many steps were made. */
export async function workBatches(deps: BatchDeps): Promise<number> {
  let steps = 0;
  for (;;) {
    const due = await claimDueBatches(deps.db.pool, deps.clock.nowMs(), LEASE_MS, STEPS_AT_ONCE);
    const done = await Promise.allSettled(due.map((batch) => work(deps, batch)));
    for (const one of done) {
      if (one.status === "rejected")
        deps.log.warn({ err: one.reason as unknown }, "a batch's step could not be written");
    }
    steps += due.length;
    if (due.length < STEPS_AT_ONCE) return steps;
  }
}
