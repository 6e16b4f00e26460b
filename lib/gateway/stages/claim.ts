/**
 * One call is one charge: a call that is named by an `Idempotency-Key`
 * (draft-ietf-httpapi-idempotency-key-header), or that repeats the body of another within the policy's window, runs once. A second
 * one waits for the first and gets its answer.
 */
import type { Denial } from "@/lib/domain/denial";
import { denial } from "@/lib/domain/denial";
import type { Outcome, RefusalEvent } from "@/lib/domain/usage-event";
import type { Classified } from "../exchange";
import type { GatewayAnswer, GatewayRequest } from "../http";
import type { CallClaim, CallClaims, KeptAnswer } from "../ports";
import { sessionNote } from "../session-call";
import type { DeferredRun } from "./defer";
import type { RouteRequest } from "../wire/routes/route-request";
import { isFormRequest } from "../wire/routes/route-request";

export interface ClaimDeps {
  /** Absent: names of calls are ignored. */
  readonly claims?: CallClaims | undefined;
}

/** A claim of this call, and how its answer is to be kept. */
export interface Claimed {
  readonly claim: CallClaim;
  /** Whether the answer itself is kept, as the organisation opted for, or only that the call was served. */
  readonly keepsAnswer: boolean;
  readonly keepMs: number;
  /** Named by the caller, who must not be charged twice for the name even where the answer could not be kept. */
  readonly isNamed: boolean;
}

/** Where a call keeps its claim, and how the attempt that answered it ended. */
export interface ClaimSlot {
  current: Claimed | undefined;
  outcome: () => Outcome | "void" | undefined;
}

export interface Replayed {
  readonly replayed: GatewayAnswer;
  readonly caller: Classified;
  readonly request: RouteRequest;
}

const MAX_NAME_LENGTH = 255;
const COME_AGAIN_MS = 5_000;
/** That a call was served is remembered so long where its answer is not. */
const SERVED_MS = 3_600_000;
/** Of the moment of the first call, not of the replay. */
const STALE_HEADERS = new Set(["ratelimit", "ratelimit-policy"]);

/** All that makes two calls the same. Lengths stand before texts, so that no two calls read alike. */
async function* contentOf(path: string, request: RouteRequest): AsyncGenerator<string | Uint8Array> {
  yield JSON.stringify([path, request.model, request.isStream]);
  if (!isFormRequest(request)) {
    yield request.text;
    return;
  }
  for (const part of request.form.parts) {
    if (part.kind === "field") yield JSON.stringify([part.name, part.value]);
    else {
      yield JSON.stringify([part.name, part.filename ?? null, part.mimeType, part.bytes]);
      yield* part.read();
    }
  }
}

/** The run of a deferred call, claimed by its id: a worker that takes over a dead one's finds the answer, where there was one. */
async function claimedRun(
  caller: Classified,
  run: DeferredRun,
  request: RouteRequest,
  claims: CallClaims,
): Promise<Claimed> {
  const content = await claims.fingerprint(contentOf(caller.path, request));
  const id = await claims.fingerprint([JSON.stringify(["deferred", run.id])]);
  const claim = { organisationId: caller.view.organisation.id, id, content, requestId: caller.requestId };
  const keptMs = (caller.chain.policy.deferral?.keepSeconds ?? 0) * 1000;
  // Where the organisation has opted out meanwhile, only that it was served is remembered.
  return { claim, keepsAnswer: keptMs > 0, keepMs: Math.min(SERVED_MS, keptMs || SERVED_MS), isNamed: true };
}

async function claimedOf(
  caller: Classified,
  name: string | null,
  request: RouteRequest,
  claims: CallClaims,
): Promise<Claimed> {
  const { answerKeepSeconds, retryWindowSeconds } = caller.chain.policy;
  const content = await claims.fingerprint(contentOf(caller.path, request));
  const isNamed = name !== null;
  const id = await claims.fingerprint([JSON.stringify([caller.callerId, isNamed, name ?? content])]);
  const keptMs = (isNamed ? answerKeepSeconds : retryWindowSeconds) * 1000;
  return {
    claim: { organisationId: caller.view.organisation.id, id, content, requestId: caller.requestId },
    keepsAnswer: keptMs > 0,
    keepMs: keptMs > 0 ? keptMs : SERVED_MS,
    isNamed,
  };
}

function replayOf(answer: KeptAnswer): GatewayAnswer {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(answer.headers)) if (!STALE_HEADERS.has(name)) headers[name] = value;
  headers["x-spillway-replayed"] = "true";
  headers["x-spillway-cost"] = "0";
  return { status: answer.status, headers, body: answer.body };
}

/** A replay as it is noted, beside the refusals: no money moved, and somebody has to see how often callers come again. */
export function replayEvent({ replayed, caller, request }: Replayed, nowMs: number): RefusalEvent {
  return {
    organisationId: caller.view.organisation.id,
    requestId: caller.requestId,
    refusedAtMs: nowMs,
    apiKeyId: caller.key.keyId,
    appId: caller.chain.appId,
    consumerPath: [...caller.chain.consumerPath],
    environment: caller.key.environment,
    trafficClass: caller.trafficClass,
    route: caller.route,
    modelRequested: request.model,
    statusCode: replayed.status,
    code: "replayed",
    budgetId: null,
    explanation: { requestId: replayed.headers["x-request-id"] ?? null, ...sessionNote(caller) },
  };
}

/**
 * Claims the call into `slot`; or gives the answer of the one that has the claim, or says why there is none. Undefined where the call
 * is to be run. Throws StoreUnavailable.
 */
export async function claimCall(
  caller: Classified,
  asked: GatewayRequest,
  request: RouteRequest,
  slot: ClaimSlot,
  run: DeferredRun | undefined,
  { claims }: ClaimDeps,
): Promise<Replayed | Denial | undefined> {
  if (!claims) return undefined;
  const name = asked.headers.get("idempotency-key");
  if (!run && name === null && caller.chain.policy.retryWindowSeconds === 0) return undefined;
  if (name !== null && (name === "" || name.length > MAX_NAME_LENGTH)) {
    const detail = `Idempotency-Key must have 1 to ${String(MAX_NAME_LENGTH)} characters`;
    return denial("invalid_request", { param: "Idempotency-Key", detail });
  }
  const claimed = run ? await claimedRun(caller, run, request, claims) : await claimedOf(caller, name, request, claims);
  const outcome = await claims.claim(claimed.claim, asked.signal);
  switch (outcome.code) {
    case "claimed":
      slot.current = claimed;
      // It was sent, and whoever sent it has kept no answer: nobody knows what came of it.
      return run?.wasSent ? denial("idempotency_not_kept") : undefined;
    case "kept":
      return { replayed: replayOf(outcome.answer), caller, request };
    case "mismatch":
      return denial("idempotency_mismatch", { param: "Idempotency-Key" });
    case "running":
      return denial("idempotency_in_progress", { retryAfterMs: COME_AGAIN_MS });
    case "not_kept":
      return denial("idempotency_not_kept", { param: "Idempotency-Key" });
  }
}
