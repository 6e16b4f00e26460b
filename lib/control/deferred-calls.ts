/**
 * Deferred calls from hand-over to end. Postgres keeps them; Redis tells gateways how they stand and says who comes first, a cancel
 * or a run. A call is marked before it is sent, and reaches its provider once: a run that a dead worker left is taken over after its
 * lease, under the same name, so that an answer it had is replayed; where there is none, nobody knows what came of it, its hold is
 * the sweeper's, and the call has failed.
 */
import { sealSecret, webhookTargetContext } from "@/lib/config/secret-box";
import {
  claimDeferredCalls,
  currentKeyHash,
  deleteOldDeferredCalls,
  endDeferredCall,
  insertDeferredCall,
  markDeferredSent,
  postponeDeferredCall,
  renewDeferredClaim,
} from "@/lib/db/deferred-calls";
import type { ClaimedDeferredCall, DeferredCallEnd, DeferredEndNotice } from "@/lib/db/deferred-calls";
import type { DeferredAnswer, DeferredFacts, DeferredRequest } from "@/lib/domain/deferred-call";
import { deferredEndOf, deferredPauseMs } from "@/lib/domain/deferred-call";
import { deferredCallEvent } from "@/lib/domain/webhook";
import type { DeferredBoxes } from "@/lib/redis/deferred-calls";
import { moveDeferred, readHandedOver, removeHandedOver } from "@/lib/redis/deferred-calls";
import type { BookkeepingDeps } from "./bookkeeping";

/** A run through a gateway, as the key that made the call. */
export interface DeferredRunOrder {
  readonly id: string;
  readonly organisationId: string;
  readonly keyHash: string;
  readonly request: DeferredRequest;
  /** A run before this one has sent it: its answer may be replayed, and nothing is sent again. */
  readonly wasSent: boolean;
  /** Called before each attempt; nothing is sent where it says false. */
  readonly beforeSend: () => Promise<boolean>;
}

export interface DeferredRunResult {
  readonly answer: DeferredAnswer;
  /** Something was sent that may have been served: it must not be sent again. */
  readonly mayBeServed: boolean;
}

export interface DeferredDeps extends Pick<BookkeepingDeps, "db" | "store" | "clock"> {
  readonly masterKey: Buffer;
  readonly boxes: DeferredBoxes;
  /** Never rejects for what becomes of the call: that is its answer. */
  readonly run: (order: DeferredRunOrder) => Promise<DeferredRunResult>;
}

const HAND_OVER_BATCH = 100;
const LEASE_MS = 60_000;
const RUNS_AT_ONCE = 8;
/** Tries that a provider may break before the call counts as failed. */
const MAX_BREAKS = 5;
/** Longer answers are not kept. */
const MAX_ANSWER_LENGTH = 4 * 1024 * 1024;

/** Takes what gateways handed over into Postgres; returns how many. Safe to repeat. */
export async function takeOverDeferred(deps: DeferredDeps, organisationId: string): Promise<number> {
  const { redis } = deps.store;
  let taken = 0;
  for (;;) {
    const calls = await readHandedOver(redis, organisationId, HAND_OVER_BATCH);
    for (const { facts, box } of calls) await insertDeferredCall(deps.db.pool, organisationId, { ...facts, box });
    const ids = calls.map((call) => call.entryId);
    await removeHandedOver(redis, organisationId, ids);
    taken += calls.length;
    if (calls.length < HAND_OVER_BATCH) return taken;
  }
}

function factsOf(call: ClaimedDeferredCall): DeferredFacts {
  const { id, apiKeyId, appId, environment, createdMs, deadlineMs, keepSeconds } = call;
  return { id, apiKeyId, appId, environment, createdMs, deadlineMs, keepSeconds };
}

interface End extends Omit<DeferredCallEnd, "endedMs" | "answerBox" | "runRequestId"> {
  readonly answer?: DeferredAnswer;
}

/** Undefined where it was sealed under a master key of before. */
function opened({ boxes }: DeferredDeps, call: ClaimedDeferredCall): DeferredRequest | undefined {
  try {
    return boxes.openRequest(call.organisationId, call.id, call.box);
  } catch {
    return undefined;
  }
}

/** What is told of the end, where the call or its policy named somebody to tell. */
function noticeOf(
  deps: DeferredDeps,
  call: ClaimedDeferredCall,
  ended: End,
  endedMs: number,
): DeferredEndNotice | null {
  const url = opened(deps, call)?.webhook;
  if (url === undefined) return null;
  const { state, code, answer } = ended;
  const requestId = answer?.requestId ?? null;
  const event = deferredCallEvent(url, factsOf(call), {
    state,
    code,
    endedMs,
    requestId,
    status: answer?.status ?? null,
  });
  const context = webhookTargetContext(call.organisationId, event.id);
  return { id: event.id, targetBox: sealSecret(deps.masterKey, url, context), payload: event.payload };
}

/** First where gateways look, then where it is kept: a worker that dies in between ends it again. */
async function end(deps: DeferredDeps, call: ClaimedDeferredCall, ended: End): Promise<void> {
  const endedMs = deps.clock.nowMs();
  const { state, code, answer } = ended;
  const answerBox = answer ? deps.boxes.seal("answer", call.organisationId, call.id, answer) : null;
  const move = { facts: factsOf(call), from: ["pending", "running"] as const, to: state, code, answerBox };
  await moveDeferred(deps.store.redis, call.organisationId, endedMs, move);
  const notice = noticeOf(deps, call, ended, endedMs);
  const runRequestId = answer?.requestId ?? null;
  await endDeferredCall(deps.db.pool, call.id, { state, code, answerBox, endedMs, runRequestId }, notice);
}

/** First where it is kept, where a call that is another worker's by now stays as it is; then where gateways look. */
async function postpone(deps: DeferredDeps, call: ClaimedDeferredCall, breaks: number): Promise<void> {
  const nowMs = deps.clock.nowMs();
  const nextMs = Math.min(nowMs + deferredPauseMs(call.tries), Math.max(nowMs, call.deadlineMs));
  // Where it was sent before, this run has sent nothing and learned nothing.
  const next = { nextMs, breaks, isSent: call.wasSent };
  if (!(await postponeDeferredCall(deps.db.pool, call, next))) return;
  const move = { facts: factsOf(call), from: ["running"] as const, to: "pending" as const };
  await moveDeferred(deps.store.redis, call.organisationId, nowMs, move);
}

function codeOf(answer: DeferredAnswer): string {
  const found = /"code"\s*:\s*"([\w-]{1,60})"/u.exec(answer.body)?.[1];
  return found ?? `status_${String(answer.status)}`;
}

async function conclude(deps: DeferredDeps, call: ClaimedDeferredCall, run: DeferredRunResult): Promise<void> {
  const { answer, mayBeServed } = run;
  if (answer.status === 409 && codeOf(answer) === "idempotency_not_kept") {
    await end(deps, call, { state: "failed", code: "outcome_unknown" });
    return;
  }
  const meaning = deferredEndOf(answer.status);
  const isBroken = meaning === "broken" && call.breaks + 1 < MAX_BREAKS;
  if ((meaning === "later" || isBroken) && !mayBeServed) {
    await postpone(deps, call, call.breaks + (isBroken ? 1 : 0));
    return;
  }
  if (answer.body.length > MAX_ANSWER_LENGTH) {
    await end(deps, call, { state: "failed", code: "answer_too_large" });
    return;
  }
  const isDone = meaning === "done";
  await end(deps, call, { state: isDone ? "done" : "failed", code: isDone ? null : codeOf(answer), answer });
}

async function runOne(deps: DeferredDeps, call: ClaimedDeferredCall): Promise<void> {
  const nowMs = deps.clock.nowMs();
  const { organisationId, id, wasSent } = call;
  // What was sent may have an answer, and has cost money: it is not thrown away.
  if (nowMs >= call.deadlineMs && !wasSent) {
    await end(deps, call, { state: "expired", code: "deadline_passed" });
    return;
  }
  const move = { facts: factsOf(call), from: ["pending", "running"] as const, to: "running" as const };
  if (!(await moveDeferred(deps.store.redis, organisationId, nowMs, move))) {
    await end(deps, call, { state: "cancelled", code: null });
    return;
  }
  const keyHash = await currentKeyHash(deps.db.pool, organisationId, call.apiKeyId, nowMs);
  if (keyHash === undefined) {
    await end(deps, call, { state: "failed", code: "invalid_api_key" });
    return;
  }
  const request = opened(deps, call);
  if (!request) {
    await end(deps, call, { state: "failed", code: "request_unreadable" });
    return;
  }
  const renewing = setInterval(() => {
    void renewDeferredClaim(deps.db.pool, call, deps.clock.nowMs() + LEASE_MS).catch(() => undefined);
  }, LEASE_MS / 4);
  try {
    const beforeSend = () => markDeferredSent(deps.db.pool, call, deps.clock.nowMs());
    await conclude(deps, call, await deps.run({ id, organisationId, keyHash, request, wasSent, beforeSend }));
  } finally {
    clearInterval(renewing);
  }
}

export interface DeferredRound {
  readonly runs: number;
  /** Calls that could not be concluded; they are taken up again after their lease. */
  readonly failed: readonly { readonly id: string; readonly error: unknown }[];
}

/** Runs what is due, so many at once, until nothing is. */
export async function runDueDeferred(deps: DeferredDeps): Promise<DeferredRound> {
  const failed: { id: string; error: unknown }[] = [];
  let runs = 0;
  for (;;) {
    const due = await claimDeferredCalls(deps.db.pool, deps.clock.nowMs(), LEASE_MS, RUNS_AT_ONCE);
    runs += due.length;
    await Promise.all(
      due.map((call) =>
        runOne(deps, call).catch((error: unknown) => {
          failed.push({ id: call.id, error });
        }),
      ),
    );
    if (due.length < RUNS_AT_ONCE) return { runs, failed };
  }
}

/** Drops calls whose answers were kept long enough; returns how many. */
export async function pruneDeferred(deps: Pick<DeferredDeps, "db" | "clock">): Promise<number> {
  return deleteOldDeferredCalls(deps.db.pool, new Date(deps.clock.nowMs()));
}
