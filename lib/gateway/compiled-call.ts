/**
 * What is the same for every call of one key, model and class under one view, worked out once: the decision, and the
 * texts the reserve script takes. Only amounts and ids differ from call to call.
 */
import type { Decision, ServePlan } from "@/lib/domain/decide";
import { decide } from "@/lib/domain/decide";
import type { Denial } from "@/lib/domain/denial";
import { denial } from "@/lib/domain/denial";
import { isModelAllowed } from "@/lib/domain/policy";
import type { ModelDocument, PriceDocument, ProviderDocument } from "@/lib/domain/snapshot";
import type { PriceRates } from "@/lib/domain/price-rates";
import { billingTagHeaders } from "@/lib/net/header-rules";
import { isPriced } from "@/lib/pricing/cost";
import type { CallerChain, OrganisationView } from "./organisation-view";
import type { ProviderAdapter, ReserveBudgetLine, ReserveRateLimit } from "./ports";
import type { Translation } from "./stages/translation";
import { TRANSLATIONS } from "./stages/translation";

/** Where a call can be sent to. */
export interface Target {
  /** Of the deployment. */
  readonly id: string;
  readonly priority: number;
  readonly weight: number;
  readonly region: string | null;
  readonly deployment: ModelDocument["deployments"][number];
  readonly provider: ProviderDocument;
  readonly adapter: ProviderAdapter;
  /** Path with query at the provider's origin. */
  readonly path: string;
  /** The shape into which the body is translated; null where the provider speaks the route's own. */
  readonly translation: Translation | null;
}

/** One way to serve the call: where it goes and what it costs there. */
export interface Serving {
  readonly plan: ServePlan;
  readonly model: ModelDocument;
  readonly target: Target;
  /** All places that serve the model, `target` among them. */
  readonly targets: readonly Target[];
  readonly price: PriceDocument;
  /** Whether the price names plain token rates only, so that the quick reading of usage says all. */
  readonly isPlainPrice: boolean;
  /** Units of the organisation's currency per unit of the price's; null where they are the same. */
  readonly fxRate: string | null;
}

export interface CompiledCall {
  readonly decision: Decision;
  /** By plan number; undefined for denials. */
  readonly servings: readonly (Serving | undefined)[];
  /** Whether no model of the call has more than one target. */
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

export interface CallShape {
  readonly model: string;
  /** Kinds of models that the route serves. */
  readonly kinds: readonly string[];
  readonly trafficClass: string;
  readonly route: string;
}

export type AdapterOf = (provider: ProviderDocument) => ProviderAdapter;

function priceAt(model: ModelDocument, nowMs: number): PriceDocument | undefined {
  return model.prices.findLast(
    (price) => price.effectiveFromMs <= nowMs && (price.effectiveToMs === null || nowMs < price.effectiveToMs),
  );
}

function fxAt(view: OrganisationView, base: string, nowMs: number): string | null | undefined {
  const quote = view.organisation.currency;
  if (base === quote) return null;
  const rows = view.fx.filter((row) => row.base === base && row.quote === quote && row.effectiveFromMs <= nowMs);
  return rows.reduce(
    (best, row) => (best === undefined || row.effectiveFromMs > best.effectiveFromMs ? row : best),
    rows[0],
  )?.rate;
}

type ServingResult = Omit<Serving, "plan"> | Denial;

/** Rates that the quick reading of usage can fill. */
const PLAIN_RATES: ReadonlySet<string> = new Set([
  "inputPerToken",
  "outputPerToken",
  "cacheReadPerToken",
  "cacheWritePerToken",
  "reasoningPerToken",
  "perRequest",
]);

function isPlain(rates: PriceRates): boolean {
  return Object.keys(rates).every((name) => PLAIN_RATES.has(name));
}

function hasPrice(rates: PriceRates, kind: string): boolean {
  return kind === "passthrough" ? rates.perRequest !== undefined : isPriced(rates, kind);
}

function targetOf(
  route: string,
  deployment: Target["deployment"],
  provider: ProviderDocument,
  adapter: ProviderAdapter,
): Target | undefined {
  const { id, priority, weight, upstreamModel } = deployment;
  const region = deployment.region ?? null;
  const base = { id, priority, weight, region, deployment, provider, adapter };
  const path = adapter.pathOf(provider, route, upstreamModel);
  if (path !== undefined) return { ...base, path, translation: null };
  const translation = TRANSLATIONS[route];
  const translated = translation && adapter.pathOf(provider, translation.route, upstreamModel);
  return translation && translated !== undefined ? { ...base, path: translated, translation } : undefined;
}

/** Where a model is served for this caller, or why it is not. */
export function servingOf(
  view: OrganisationView,
  chain: CallerChain,
  name: string,
  shape: Pick<CallShape, "kinds" | "route">,
  nowMs: number,
  adapterOf: AdapterOf,
): ServingResult {
  const model = view.models.get(name);
  if (!model || model.disabled) return denial("model_not_found", { model: name });
  if (!isModelAllowed(chain.policy, name)) return denial("model_not_allowed", { model: name });
  if (!shape.kinds.includes(model.kind)) {
    return denial("model_not_found", { model: name, detail: `it is a model of the kind ${model.kind}` });
  }
  const isTest = chain.environment === "test";
  if (isTest && model.isExternal) return denial("environment_forbidden", { model: name });
  const usable = model.deployments.flatMap((deployment) => {
    const provider = view.providers.get(deployment.providerId);
    return provider && !provider.disabled && !(isTest && provider.isExternal) ? [{ deployment, provider }] : [];
  });
  if (usable.length === 0) return denial(isTest ? "environment_forbidden" : "model_not_found", { model: name });
  const targets = usable.flatMap(
    ({ deployment, provider }) => targetOf(shape.route, deployment, provider, adapterOf(provider)) ?? [],
  );
  const [target] = [...targets].sort((left, right) => left.priority - right.priority);
  if (!target) {
    return denial("invalid_request", { param: "model", detail: "no provider of this model serves this route" });
  }
  const price = priceAt(model, nowMs);
  if (!price || !hasPrice(price.rates, model.kind)) return denial("price_missing", { model: name });
  const fxRate = fxAt(view, price.currency, nowMs);
  if (fxRate === undefined) return denial("price_missing", { model: name });
  return { model, target, targets, price, isPlainPrice: isPlain(price.rates), fxRate };
}

function isServing(result: ServingResult): result is Exclude<ServingResult, Denial> {
  return !("kind" in result);
}

function headPartOf({ model, target, price, fxRate }: Exclude<ServingResult, Denial>): string {
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

function linesOf(view: OrganisationView, decision: Decision, nowMs: number) {
  let startMs = 0;
  let endMs = Number.MAX_SAFE_INTEGER;
  const resetsAtMs: number[] = [];
  const lines = decision.budgets.map((planned): ReserveBudgetLine => {
    const period = view.periods.at(planned.budget.periodKind, nowMs);
    startMs = Math.max(startMs, period.startMs);
    endMs = Math.min(endMs, period.endMs);
    resetsAtMs.push(period.endMs);
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

function compile(
  view: OrganisationView,
  chain: CallerChain,
  shape: CallShape,
  nowMs: number,
  adapterOf: AdapterOf,
): CompiledCall | Denial {
  const asked = servingOf(view, chain, shape.model, shape, nowMs, adapterOf);
  if (!isServing(asked)) return asked;
  const decision = decide({
    policy: chain.policy,
    budgets: chain.budgets,
    scope: { model: shape.model, trafficClass: shape.trafficClass, environment: chain.environment },
    isVip: chain.isVip,
    canServe: (name) => isServing(servingOf(view, chain, name, shape, nowMs, adapterOf)),
  });
  const servings = decision.plans.map((plan): Serving | undefined => {
    if (plan.kind === "deny") return undefined;
    const serving = servingOf(view, chain, plan.model, shape, nowMs, adapterOf);
    return isServing(serving) ? { plan, ...serving } : undefined;
  });
  const { lines, resetsAtMs, startMs, endMs } = linesOf(view, decision, nowMs);
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
    isSimple: servings.every((serving) => serving === undefined || serving.targets.length === 1),
    variants: new Map(),
    rateLimits: chain.rateLimits,
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

const MAX_COMPILED_PER_KEY = 64;

/** The compiled call, from the chain's memory while its window lasts. `nowMs` is the store's time. */
export function compiledCall(
  view: OrganisationView,
  chain: CallerChain,
  shape: CallShape,
  nowMs: number,
  adapterOf: AdapterOf,
): CompiledCall | Denial {
  const id = `${shape.route} ${shape.trafficClass} ${shape.model}`;
  const known = chain.compiled.get(id);
  if (known && nowMs >= known.windowStartMs && nowMs < known.windowEndMs) return known;
  const fresh = compile(view, chain, shape, nowMs, adapterOf);
  if ("kind" in fresh) return fresh;
  if (chain.compiled.size >= MAX_COMPILED_PER_KEY) chain.compiled.clear();
  chain.compiled.set(id, fresh);
  return fresh;
}
