/**
 * Creations under an `Idempotency-Key`: one that is tried again makes nothing anew and gets what the first one made. What is made
 * stands in the register anyway, so its answer is kept whether the organisation keeps texts or not.
 */
import { isDenial } from "@/lib/domain/denial";
import type { Authenticated } from "../exchange";
import type { GatewayAnswer } from "../http";
import type { ClaimSlot } from "../stages/claim";
import { claimCall } from "../stages/claim";
import { classify } from "../stages/authenticate";
import type { RouteRequest } from "../wire/routes/route-request";
import type { StoredAsked, StoredRefusal, StoredResult, StoredServing } from "./stored-call";
import { refused } from "./stored-call";

/** How long the name of a creation is remembered. */
const NAMED_MS = 86_400_000;
const encoder = new TextEncoder();

export interface Creation {
  /** Before the provider is asked for what would have to be paid twice: whatever dies from now on, the name stays taken. */
  readonly mayLeave: () => Promise<void>;
  /** The provider made nothing: the name is free again. */
  readonly leftNothing: () => void;
}

/** Throws StoreUnavailable, and what `create` throws. */
export async function createdOnce(
  asked: StoredAsked,
  caller: Authenticated,
  request: RouteRequest,
  { claims }: StoredServing,
  create: (creation: Creation) => Promise<GatewayAnswer | StoredRefusal>,
): Promise<StoredResult> {
  const slot: ClaimSlot = { current: undefined, outcome: () => undefined };
  const classified = classify(caller, asked.request.headers);
  const replayed = await claimCall(classified, asked.request, request, slot, undefined, { claims });
  if (replayed) return isDenial(replayed) ? refused(replayed, caller) : replayed;
  const { current } = slot;
  if (!claims || !current) return create({ mayLeave: () => Promise.resolve(), leftNothing: () => undefined });
  const { claim, isNamed, keepMs } = current;
  const keptMs = isNamed ? Math.max(keepMs, NAMED_MS) : keepMs;
  let isPinned = false;
  const creation: Creation = {
    mayLeave: async () => {
      isPinned = true;
      await claims.pin(claim, keptMs);
    },
    leftNothing: () => {
      isPinned = false;
    },
  };
  let kept: GatewayAnswer | undefined;
  try {
    const result = await create(creation);
    if (!("refusal" in result) && result.status < 300) kept = result;
    return result;
  } finally {
    const { status = 0, headers = {}, body } = kept ?? {};
    if (typeof body === "string") await claims.keep(claim, { status, headers, body: encoder.encode(body) }, keptMs);
    else if (isPinned) await claims.keep(claim, null, keptMs);
    else await claims.release(claim);
  }
}
