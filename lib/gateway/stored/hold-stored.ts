/**
 * The hold of a call about files and batches: like any other, on every budget above the caller, but for bounds that are not of
 * its body. Uploads hold the least there is and give it back, so that who has nothing left reaches nobody.
 */
import type { Denial } from "@/lib/domain/denial";
import { denial, isDenial } from "@/lib/domain/denial";
import { meterAmounts } from "@/lib/domain/lines";
import { MoneyError } from "@/lib/domain/money";
import { PriceError } from "@/lib/pricing/decimal";
import type { CompiledCall } from "../compiled-call";
import { compiledCall } from "../compiled-call";
import { callOfEndUser } from "../end-user-call";
import type { Classified, Held } from "../exchange";
import { maxCostOf, regionsOf } from "../hold";
import type { OrganisationView } from "../organisation-view";
import type { Target } from "../serving";
import { callOfSession } from "../session-call";
import { authenticate, classify } from "../stages/authenticate";
import type { Estimate } from "../stages/estimate";
import { reserve } from "../stages/reserve";
import { callOfTargets } from "../target-call";
import { NONE_AVOIDED, spentDenial } from "../targets";
import type { RequestShape, RouteRequest } from "../wire/routes/route-request";
import { NO_EXTRAS } from "../wire/routes/route-request";
import type { StoredAsked, StoredRefusal, StoredServing } from "./stored-call";
import { refused } from "./stored-call";

/** What is to be held: the call at its one place, and the bound of each plan that serves. */
export interface StoredPlan {
  readonly request: RouteRequest;
  readonly call: CompiledCall;
  readonly estimates: readonly (Estimate | undefined)[];
  readonly endUser: string | null;
}

/** The least that can be held. */
export const LEAST: Estimate = {
  inputTokens: 1,
  outputTokens: 1,
  cost: 1n,
  amounts: meterAmounts(1n, 1, 1),
  writtenCap: null,
};

/** A body without a call in it, for what is reserved under a model's name. */
export function shapeless(model: string, kind: "file" | "batch"): RequestShape {
  return {
    ...{ model, kind, isStream: false, wantsUsage: true, outputCap: 0, choices: 1, inputBound: 0, extraOutput: 0 },
    ...{ inputGuess: () => 0, endUser: null, extras: NO_EXTRAS },
  };
}

/**
 * The call at one deployment and no other. What is at a provider cannot be served elsewhere, so a rung that downgrades serves the
 * asked model, as it does where the map names none that may be served.
 */
export function callAt(
  caller: Classified,
  target: Target,
  model: string,
  shape: { readonly route: string; readonly kinds: readonly string[]; readonly regions: readonly string[] | null },
  nowMs: number,
  { adapterOf }: StoredServing,
): CompiledCall | Denial {
  const { view, chain, trafficClass } = caller;
  const document = view.models.get(model);
  if (!document) return denial("model_not_found", { model });
  const there: OrganisationView = {
    ...view,
    models: new Map([[model, { ...document, deployments: [target.deployment] }]]),
  };
  // Not from the chain's memory: what is remembered there is of all deployments.
  const apart = { ...chain, compiled: new Map<string, CompiledCall>() };
  return compiledCall(there, apart, { model, trafficClass, ...shape }, nowMs, adapterOf);
}

const MAX_ROUNDS = 6;

/** Held, or why not. `plan` is asked again where the store knows more than this process. Throws StoreUnavailable. */
export async function holdStored(
  asked: StoredAsked,
  deps: StoredServing,
  plan: (caller: Classified, nowMs: number, regions: readonly string[] | null) => StoredPlan | Denial,
): Promise<Held | StoredRefusal> {
  const { request, received, clientAddress } = asked;
  let nowMs = deps.clock.nowMs();
  let caller: Classified | undefined;
  const [maxCost, regions] = [maxCostOf(request), regionsOf(request)];
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const authenticated = await authenticate(received, request.headers, clientAddress, nowMs, deps);
    if (isDenial(authenticated)) return refused(authenticated, caller);
    caller = classify(authenticated, request.headers);
    if (isDenial(maxCost)) return refused(maxCost, caller);
    if (isDenial(regions)) return refused(regions, caller);
    const planned = plan(caller, nowMs, regions);
    if (isDenial(planned)) return refused(planned, caller);
    const result = await reserveOnce(caller, planned, maxCost, nowMs, deps);
    if (isDenial(result)) return refused(result, caller);
    if ("isStatic" in result) return refused(result.refusal, caller);
    // What is kept at a provider is served there or not at all.
    if ("spentAt" in result) return refused(spentDenial(planned.request.model, [result.spentAt]), caller);
    if (!("again" in result)) return result;
    if (result.again === "clock") nowMs = result.nowMs;
    else await deps.policies.catchUp(caller.view.organisation.id);
  }
  return refused(denial("quota_store_unavailable", { retryAfterMs: 1000 }), caller);
}

async function reserveOnce(
  caller: Classified,
  { request, call, estimates, endUser }: StoredPlan,
  maxCost: bigint | null,
  nowMs: number,
  { ledger, hasher }: StoredServing,
): Promise<Awaited<ReturnType<typeof reserve>>> {
  const counted = caller.chain.countsEndUsers ? callOfEndUser(call, caller, endUser, hasher) : call;
  if (isDenial(counted)) return counted;
  const { session } = caller.chain.policy;
  const limited = session === null ? counted : callOfSession(counted, caller, session, hasher);
  if (isDenial(limited)) return limited;
  const spent = NONE_AVOIDED;
  const options = { attempt: 0, before: [], spent, previous: null, counted: undefined, maxCost, estimates };
  return reserve(caller, { ...request, endUser }, callOfTargets(limited, caller, nowMs), options, ledger);
}

/** A bound that cannot be told: what the row has no rate for, or more than the ledger can hold. */
export function asBound(model: string, bound: () => Estimate): Estimate | Denial {
  try {
    return bound();
  } catch (error) {
    if (error instanceof MoneyError)
      return denial("invalid_request", { detail: "this call could cost more than the ledger can hold" });
    if (error instanceof PriceError) return denial("price_missing", { model, detail: error.message });
    throw error;
  }
}
