/**
 * Which deployment serves each plan of a call now: by priority and weight, of those that were not tried in this call, whose
 * breakers allow it and that can take this body. Where a model has none, another stands in: the policy's fallbacks in their
 * order, for a cheaper model at last the asked one. Every wall of the asked model stands before what stands in, too.
 */
import type { Denial } from "@/lib/domain/denial";
import { denial, isDenial } from "@/lib/domain/denial";
import { MoneyError } from "@/lib/domain/money";
import { fallbacksOf } from "@/lib/domain/policy";
import { PriceError } from "@/lib/pricing/decimal";
import type { Breakers } from "@/lib/routing/breakers";
import { chooseDeployments } from "@/lib/routing/choice";
import type { CompiledCall } from "./compiled-call";
import { compiledCall } from "./compiled-call";
import type { Classified } from "./exchange";
import type { AdapterOf, CallShape, ServingFacts, Target } from "./serving";
import { isServing, servingOf } from "./serving";
import { estimateServing } from "./stages/estimate";
import { translatedBody } from "./stages/translation";
import type { RouteRequest } from "./wire/routes/route-request";
import { NO_EXTRAS } from "./wire/routes/route-request";

export interface TargetDeps {
  readonly adapterOf: AdapterOf;
  readonly breakers: Breakers;
  /** In [0, 1). */
  readonly random: () => number;
  readonly clock: { nowMs(): number };
}

/** A call that looks for its targets. */
export interface Routing {
  readonly caller: Classified;
  readonly request: RouteRequest;
  readonly shape: CallShape;
  /** The store's time, by which prices are in force. */
  readonly nowMs: number;
  /** The account that keeps what the body refers to, and the only one that can serve it; undefined for any. */
  readonly keptAt?: string | undefined;
  /** Providers and deployments by their ids whose own budgets have no room for this call. */
  readonly spent: ReadonlySet<string>;
  /** Its request rates have counted it when it was taken for later. */
  readonly isCounted: boolean;
}

/** Deployments that a call does not go to again, by their ids. */
export type Avoided = ReadonlySet<string>;

export const NONE_AVOIDED: Avoided = new Set();

/** No target may be called now; when one may again. */
export interface Resting {
  readonly restingMs: number;
}

/** A call, and by name of each model that serves in it the target chosen; undefined where there is nothing to choose. */
export interface Routed {
  readonly call: CompiledCall;
  readonly chosen: ReadonlyMap<string, Target> | undefined;
}

interface Placed {
  readonly model: string;
  readonly target: Target;
}

/** A body for a model of another shape must have an exact counterpart there. */
function untranslatable(request: RouteRequest, target: Target): Denial | undefined {
  const { translation, adapter, deployment } = target;
  if (!translation) return undefined;
  const { upstreamModel } = deployment;
  const to = { upstreamModel, outputCap: request.outputCap ?? 1, vendor: adapter.vendor };
  const made = translatedBody(request, translation, to);
  return isDenial(made) ? made : undefined;
}

/** Whether what the request may use has a price there. Of the asked model the caller is told; a stand-in is passed over. */
function canPrice(serving: ServingFacts, target: Target, { caller, request }: Routing): boolean {
  if (serving.isPlainPrice && request.extras === NO_EXTRAS) return true;
  try {
    estimateServing(request, { ...serving, target }, caller.chain.policy.outputCapTokens);
    return true;
  } catch (error) {
    if (error instanceof PriceError || error instanceof MoneyError) return false;
    throw error;
  }
}

/** A body that refers to what an account keeps means nothing to any other. */
function mayServe({ provider }: Target, { keptAt }: Routing): boolean {
  return keptAt === undefined || provider.id === keptAt;
}

/** What may be spent there is spent. */
function isSpent({ id, provider }: Target, { spent }: Routing): boolean {
  return spent.has(id) || spent.has(provider.id);
}

function ownTarget(serving: ServingFacts, avoided: Avoided, routing: Routing, deps: TargetDeps): Target | undefined {
  const nowMs = deps.clock.nowMs();
  const order = chooseDeployments({
    deployments: serving.targets.filter(
      (target) => !avoided.has(target.id) && mayServe(target, routing) && !isSpent(target, routing),
    ),
    admissionOf: (target) => deps.breakers.admission(target, nowMs),
    random: deps.random,
  });
  return order.find((target) => untranslatable(routing.request, target) === undefined);
}

function standIn(model: string, avoided: Avoided, routing: Routing, deps: TargetDeps): Placed | undefined {
  const { caller, shape, nowMs } = routing;
  for (const name of fallbacksOf(caller.chain.policy, model)) {
    const serving = servingOf(caller.view, caller.chain, name, shape, nowMs, deps.adapterOf);
    const target = isServing(serving) ? ownTarget(serving, avoided, routing, deps) : undefined;
    if (target && isServing(serving) && canPrice(serving, target, routing)) return { model: name, target };
  }
  return undefined;
}

/** Where the asked model, or what stands in for it, is served. */
function askedPlace(asked: ServingFacts, avoided: Avoided, routing: Routing, deps: TargetDeps): Placed | undefined {
  const target = ownTarget(asked, avoided, routing, deps);
  return target ? { model: asked.model.name, target } : standIn(asked.model.name, avoided, routing, deps);
}

/** Where a cheaper model, or what stands in for it, is served. */
function cheaperPlace(cheaper: ServingFacts, avoided: Avoided, routing: Routing, deps: TargetDeps): Placed | undefined {
  const own = ownTarget(cheaper, avoided, routing, deps);
  const target = own && canPrice(cheaper, own, routing) ? own : undefined;
  return target ? { model: cheaper.model.name, target } : standIn(cheaper.model.name, avoided, routing, deps);
}

/** Nobody's budget but the providers' is gone: it says nothing of the caller's. */
export function spentDenial(model: string, spent: Iterable<string>): Denial {
  return denial("provider_budget_exhausted", { model, spentTargets: [...spent] });
}

function noPlace(asked: ServingFacts, routing: Routing, deps: TargetDeps): Denial | Resting {
  const able = asked.targets.filter((target) => mayServe(target, routing));
  if (able.length === 0) {
    return denial("invalid_request", { detail: "what this refers to is kept where the model is not served" });
  }
  const denials = able.map((target) => untranslatable(routing.request, target));
  const [denied] = denials;
  if (denied && denials.every((one) => one !== undefined)) return denied;
  const funded = able.filter((target) => !isSpent(target, routing));
  if (funded.length === 0) return spentDenial(routing.shape.model, routing.spent);
  const nowMs = deps.clock.nowMs();
  const next = funded.map((target) => deps.breakers.nextAdmissionMs(target, nowMs));
  return { restingMs: Math.max(1000, Math.min(...next) - nowMs) };
}

/** The call with a target for each plan. Most calls have one target and no breaker that knows of trouble. */
export function routeCall(
  call: CompiledCall,
  avoided: Avoided,
  routing: Routing,
  deps: TargetDeps,
): Routed | Resting | Denial {
  const asked = call.servings[0];
  const isPlain = call.isSimple && routing.request.extras === NO_EXTRAS && routing.keptAt === undefined;
  const isFree = avoided.size === 0 && routing.spent.size === 0 && deps.breakers.size === 0;
  if (!asked || (isPlain && isFree)) return { call, chosen: undefined };
  const first = askedPlace(asked, avoided, routing, deps);
  if (!first) return noPlace(asked, routing, deps);
  const places = new Map([[asked.model.name, first]]);
  for (const serving of call.servings) {
    if (!serving || places.has(serving.model.name)) continue;
    // The ladder asks for a cheaper model only where one can be had.
    places.set(serving.model.name, cheaperPlace(serving, avoided, routing, deps) ?? first);
  }
  const chosen = new Map([...places.values()].map(({ model, target }) => [model, target]));
  const standIns = new Map([...places].flatMap(([meant, { model }]) => (model === meant ? [] : [[meant, model]])));
  if (standIns.size === 0) return { call, chosen };
  const { caller, shape, nowMs } = routing;
  const other = compiledCall(caller.view, caller.chain, shape, nowMs, deps.adapterOf, standIns);
  return isDenial(other) ? other : { call: other, chosen };
}

/** Whether a deployment of this very model may be called besides those avoided. */
export function hasOwnTarget(serving: ServingFacts, avoided: Avoided, routing: Routing, deps: TargetDeps): boolean {
  return ownTarget(serving, avoided, routing, deps) !== undefined;
}

/** Whether the call has anywhere to go besides the deployments avoided, other models among them. */
export function hasPlace(avoided: Avoided, routing: Routing, deps: TargetDeps): boolean {
  const { caller, shape, nowMs } = routing;
  const call = compiledCall(caller.view, caller.chain, shape, nowMs, deps.adapterOf);
  const asked = isDenial(call) ? undefined : call.servings[0];
  return asked !== undefined && askedPlace(asked, avoided, routing, deps) !== undefined;
}
