/**
 * What is the same for every call of one key, model and class under one view, worked out once: the decision, and the
 * texts the reserve script takes. Only amounts and ids differ from call to call.
 */
import type { Decision, PlannedBudget } from "@/lib/domain/decide";
import { decide } from "@/lib/domain/decide";
import type { Denial } from "@/lib/domain/denial";
import { billingTagHeaders } from "@/lib/net/header-rules";
import type { RateLimitDocument } from "@/lib/domain/snapshot";
import type { CallerChain, OrganisationView } from "./organisation-view";
import type { ReserveBudgetLine, ReserveRateLimit } from "./ports";
import type { AdapterOf, CallShape, Serving, ServingFacts, Target } from "./serving";
import { isServing, servingOf } from "./serving";

export interface CompiledCall {
  readonly decision: Decision;
  /** By plan number; undefined for denials. */
  readonly servings: readonly (Serving | undefined)[];
  /** Whether every model of the call has one target, which speaks the route's own shape. */
  readonly isSimple: boolean;
  /** The same call at other targets, by their ids. */
  readonly variants: Map<string, CompiledCall>;
  readonly rateLimits: readonly ReserveRateLimit[];
  /** Span in which prices, FX and period ids stay as compiled, [start, end) in Unix ms. */
  readonly windowStartMs: number;
  readonly windowEndMs: number;
  readonly lines: readonly ReserveBudgetLine[];
  readonly resetsAtMs: readonly number[];
  /** A charged line of the usage event by budget, up to the digits of its amount. */
  readonly linePrefixes: readonly string[];
  /** What all calls say in the usage event's head, and by plan what its serving says there (see EventHead). */
  readonly headOpening: string;
  readonly headServings: readonly string[];
  /** Headers by which an upstream's bill can be split: name, value, name, value. */
  readonly billingTags: readonly string[];
}

function headPartOf({ model, target, price, fxRate }: ServingFacts): string {
  const part = {
    modelServed: model.name,
    providerId: target.provider.id,
    deploymentId: target.id,
    priceId: price.id,
    priceCurrency: price.currency,
    fxRate,
  };
  return JSON.stringify(part).slice(1, -1);
}

/** Next instant at which a price or rate of the organisation changes. */
function nextPriceChange(view: OrganisationView, nowMs: number): number {
  let next = Number.MAX_SAFE_INTEGER;
  const consider = (timeMs: number | null) => {
    if (timeMs !== null && timeMs > nowMs && timeMs < next) next = timeMs;
  };
  for (const model of view.models.values()) {
    for (const price of model.prices) {
      consider(price.effectiveFromMs);
      consider(price.effectiveToMs);
    }
  }
  for (const row of view.fx) consider(row.effectiveFromMs);
  return next;
}

/** A line for each budget in its period of now, when each resets, and the span in which all that is so. */
export function linesOf(view: OrganisationView, budgets: readonly PlannedBudget[], nowMs: number) {
  let startMs = 0;
  let endMs = Number.MAX_SAFE_INTEGER;
  const resetsAtMs: number[] = [];
  const lines = budgets.map((planned): ReserveBudgetLine => {
    const period = view.periods.at(planned.budget.periodKind, nowMs);
    startMs = Math.max(startMs, period.startMs);
    endMs = Math.min(endMs, period.endMs);
    resetsAtMs.push(period.endMs);
    const { targetId } = planned.budget;
    return {
      budgetId: planned.budget.id,
      periodId: period.id,
      meter: planned.meter,
      enforcement: planned.enforcement,
      // A first rung of 0 % that passes says nothing: most calls then compare one threshold a budget.
      rungs: planned.steps
        .filter((step) => step.atBasisPoints > 0 || step.plan > 0)
        .map((step) => `${String(step.atBasisPoints)}:${String(step.plan)}`)
        .join(","),
      overflowPlan: planned.overflowPlan,
      ...(targetId === undefined ? {} : { targetId }),
    };
  });
  return { lines, resetsAtMs, startMs, endMs };
}

/** A charged line of the usage event, up to the digits of its amount. */
export function linePrefixOf({ budgetId, periodId, meter }: ReserveBudgetLine): string {
  return `{"b":"${budgetId}","p":"${periodId}","m":"${meter}","a":"`;
}

function headServingsOf(servings: CompiledCall["servings"]): string[] {
  return servings.map((serving) => (serving ? `${headPartOf(serving)},` : ""));
}

/** The app that calls, and the cost centre nearest to it. */
function billingTagsOf(chain: CallerChain): string[] {
  const costCentre = chain.consumers.findLast((consumer) => consumer.costCentre !== null)?.costCentre ?? null;
  return Object.entries(billingTagHeaders({ consumerId: chain.appId, costCentre })).flat();
}

/** By the name of a model whose deployments are all out, the model that serves in its place. */
export type StandIns = ReadonlyMap<string, string>;

const NO_STAND_INS: StandIns = new Map();

function isOwnTarget(serving: Serving | undefined): boolean {
  return serving === undefined || (serving.targets.length === 1 && serving.target.translation === null);
}

function compile(
  view: OrganisationView,
  chain: CallerChain,
  shape: CallShape,
  nowMs: number,
  adapterOf: AdapterOf,
  standIns: StandIns,
): CompiledCall | Denial {
  const asked = servingOf(view, chain, shape.model, shape, nowMs, adapterOf);
  if (!isServing(asked)) return asked;
  const decision = decide({
    policy: chain.policy,
    budgets: chain.budgets,
    scope: { model: shape.model, trafficClass: shape.trafficClass, environment: chain.environment },
    isVip: chain.isVip,
    canServe: (name) => isServing(servingOf(view, chain, name, shape, nowMs, adapterOf)),
    standIn: (name) => standIns.get(name) ?? name,
  });
  const servings = decision.plans.map((plan): Serving | undefined => {
    if (plan.kind === "deny") return undefined;
    const serving = servingOf(view, chain, plan.model, shape, nowMs, adapterOf);
    return isServing(serving) ? { plan, ...serving } : undefined;
  });
  const { lines, resetsAtMs, startMs, endMs } = linesOf(view, decision.budgets, nowMs);
  const opening = {
    organisationId: view.organisation.id,
    appId: chain.appId,
    consumerPath: chain.consumerPath,
    environment: chain.environment,
    trafficClass: shape.trafficClass,
    route: shape.route,
    modelRequested: shape.model,
    currency: view.organisation.currency,
    unknownOutcome: chain.policy.unknownOutcome,
  };
  return {
    decision,
    servings,
    isSimple: servings.every(isOwnTarget),
    variants: new Map(),
    rateLimits: chain.rateLimits.flatMap(windowsOf),
    windowStartMs: Math.min(startMs, nowMs),
    windowEndMs: Math.min(endMs, nextPriceChange(view, nowMs)),
    lines,
    resetsAtMs,
    linePrefixes: lines.map(linePrefixOf),
    headOpening: `${JSON.stringify(opening).slice(0, -1)},`,
    headServings: headServingsOf(servings),
    billingTags: billingTagsOf(chain),
  };
}

const MAX_VARIANTS = 64;

/**
 * The call with other targets. What the store is told once for all calls of one list of lines names the deployment too, so a
 * variant has a list of its own.
 */
export function atTargets(call: CompiledCall, choose: (serving: Serving) => Target): CompiledCall {
  const servings = call.servings.map((serving) => (serving ? { ...serving, target: choose(serving) } : undefined));
  const id = servings.map((serving) => serving?.target.id ?? "").join(" ");
  const known = call.variants.get(id);
  if (known) return known;
  const variant = { ...call, servings, lines: [...call.lines], headServings: headServingsOf(servings) };
  if (call.variants.size >= MAX_VARIANTS) call.variants.clear();
  call.variants.set(id, variant);
  return variant;
}

const againCalls = new WeakMap<CompiledCall, CompiledCall>();

/** The call as it is reserved once more: a rate counts calls, not the attempts of one, and has counted this. */
export function reservedAgain(call: CompiledCall): CompiledCall {
  if (call.rateLimits.every(({ requestsPerMinute }) => requestsPerMinute === null)) return call;
  const known = againCalls.get(call);
  if (known) return known;
  const rateLimits = call.rateLimits.map((limit) => ({ ...limit, requestsPerMinute: null, burstRequests: null }));
  const again = { ...call, rateLimits, lines: [...call.lines] };
  againCalls.set(call, again);
  return again;
}

/** A rate by the second is a window of its own: as many at once, and no more than that in any second on average. */
function windowsOf(limit: RateLimitDocument): ReserveRateLimit[] {
  const { requestsPerSecond, ...byMinute } = limit;
  if (requestsPerSecond === null) return [byMinute];
  const none = { tokensPerMinute: null, concurrency: null };
  const rate = { requestsPerMinute: requestsPerSecond * 60, burstRequests: requestsPerSecond };
  return [byMinute, { id: `${limit.id}.s`, ...rate, ...none }];
}

const MAX_COMPILED_PER_KEY = 64;

function idOf({ route, trafficClass, model, regions }: CallShape, standIns: StandIns): string {
  const id = `${route} ${trafficClass} ${model}`;
  if (regions === null && standIns.size === 0) return id;
  return JSON.stringify([id, regions, ...standIns]);
}

/** The compiled call, from the chain's memory while its window lasts. `nowMs` is the store's time. */
export function compiledCall(
  view: OrganisationView,
  chain: CallerChain,
  shape: CallShape,
  nowMs: number,
  adapterOf: AdapterOf,
  standIns: StandIns = NO_STAND_INS,
): CompiledCall | Denial {
  const id = idOf(shape, standIns);
  const known = chain.compiled.get(id);
  if (known && nowMs >= known.windowStartMs && nowMs < known.windowEndMs) return known;
  const fresh = compile(view, chain, shape, nowMs, adapterOf, standIns);
  if ("kind" in fresh) return fresh;
  if (chain.compiled.size >= MAX_COMPILED_PER_KEY) chain.compiled.clear();
  chain.compiled.set(id, fresh);
  return fresh;
}
