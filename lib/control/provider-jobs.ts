/**
 * Batches and background responses from the moment their provider is asked for one until what they cost stands in the ledger. Each
 * step is written to Postgres before the next, is safe to repeat, and is done by whoever holds the claim: a worker that dies is
 * followed by another.
 */
import type { ProviderJob } from "@/lib/db/provider-jobs";
import { claimDueJobs, listOpenJobs, renewJobClaim, stepJob } from "@/lib/db/provider-jobs";
import { findBooked } from "@/lib/db/ledger-entries";
import { rankOf } from "@/lib/domain/correction";
import { idTimeMs } from "@/lib/domain/ids";
import { readHolds } from "@/lib/redis/kept-reservations";
import { tellSettled } from "@/lib/redis/stored-objects";
import { findResponse, followResponse } from "./background-responses";
import { findBatch, followBatch } from "./batches";
import { endUnseen } from "./job-settlement";
import type { JobDeps, Step } from "./job-steps";
import { pauseMs, settling } from "./job-steps";

const LEASE_MS = 60_000;
const STEPS_AT_ONCE = 4;
/** A job ends within a day; of one that cannot be asked about for so long nobody will hear. */
const GIVE_UP_MS = 72 * 3_600_000;
const LOOK_AT_LEDGER_MS = 1_000;

/** Loads what is to be kept; before anything is swept, and every second. */
export async function keepJobs(deps: JobDeps): Promise<number> {
  const open = await listOpenJobs(deps.db.pool);
  deps.keeper.keep(open);
  return open.length;
}

/** Whether the end stands: in the ledger, or, where nothing is owed, as a reservation that is open no more. */
async function hasSettled(deps: JobDeps, { facts, end }: ProviderJob): Promise<boolean> {
  const { organisationId, reservationId } = facts;
  const result = end?.result ?? null;
  if (result === null) return (await readHolds(deps.store, organisationId, [reservationId])).size === 0;
  const [requestId = "", attempt = "0"] = reservationId.split(":");
  const key = { requestId, attempt: Number(attempt), reservedAtMs: idTimeMs(requestId) ?? 0 };
  const rank = rankOf({ ...result, kind: "usage" });
  return (await findBooked(deps.db.pool, organisationId, [key])).some((entry) => rankOf(entry) >= rank);
}

async function settle(deps: JobDeps, job: ProviderJob): Promise<Step> {
  const { state, said, end } = job;
  if (!(await hasSettled(deps, job))) {
    await deps.keeper.end(job);
    if (!(await hasSettled(deps, job))) return { state, said, end, inMs: LOOK_AT_LEDGER_MS };
  }
  if (said) await tellSettled(deps.store.redis, job.facts.organisationId, [String(said.id)]);
  return { state: end?.result ? "settled" : "void", said, end, inMs: 0 };
}

async function ask(deps: JobDeps, job: ProviderJob): Promise<Step> {
  const isMade = job.state === "running";
  const { facts } = job;
  if (facts.kind === "response") {
    const response = { ...job, facts };
    return isMade ? followResponse(deps, response) : findResponse(deps, response);
  }
  const batch = { ...job, facts };
  return isMade ? followBatch(deps, batch) : findBatch(deps, batch);
}

async function stepOf(deps: JobDeps, job: ProviderJob): Promise<Step> {
  const nowMs = deps.clock.nowMs();
  try {
    return job.state === "settling" ? await settle(deps, job) : await ask(deps, job);
  } catch (error) {
    const { organisationId, reservationId, createdMs } = job.facts;
    deps.log.warn({ err: error, organisationId, reservationId }, "a provider's job could not be looked after");
    if (job.state !== "settling" && nowMs - createdMs > GIVE_UP_MS) {
      return settling(job, null, endUnseen(job, nowMs));
    }
    return { ...job, inMs: pauseMs(job.tries), tries: job.tries + 1 };
  }
}

async function work(deps: JobDeps, job: ProviderJob): Promise<void> {
  const { reservationId } = job.facts;
  const renewing = setInterval(() => {
    void renewJobClaim(deps.db.pool, reservationId, deps.clock.nowMs() + LEASE_MS).catch(() => undefined);
  }, LEASE_MS / 4);
  try {
    const { inMs, tries = 0, ...step } = await stepOf(deps, job);
    await stepJob(deps.db.pool, reservationId, { ...step, tries, atMs: deps.clock.nowMs() + inMs });
  } finally {
    clearInterval(renewing);
  }
}

/** Does what is due of every job, so many at once; returns how many steps were made. */
export async function workJobs(deps: JobDeps): Promise<number> {
  let steps = 0;
  for (;;) {
    const due = await claimDueJobs(deps.db.pool, deps.clock.nowMs(), LEASE_MS, STEPS_AT_ONCE);
    const done = await Promise.allSettled(due.map((job) => work(deps, job)));
    for (const one of done) {
      if (one.status === "rejected") deps.log.warn({ err: one.reason as unknown }, "a job's step could not be written");
    }
    steps += due.length;
    if (due.length < STEPS_AT_ONCE) return steps;
  }
}
