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
import { isPriced } from "@/lib/pricing/cost";
import type { CallerChain, OrganisationView } from "./organisation-view";
import type { ReserveBudgetLine, ReserveRateLimit } from "./ports";

/** One way to serve the call: where it goes and what it costs there. */
export interface Serving {
  readonly plan: ServePlan;
  readonly model: ModelDocument;
  readonly deployment: ModelDocument["deployments"][number];
  readonly provider: ProviderDocument;
  readonly price: PriceDocument;
  /** Units of the organisation's currency per unit of the price's; null where they are the same. */
  readonly fxRate: string | null;
}

export interface CompiledCall {
  readonly decision: Decision;
  /** By plan number; undefined for denials. */
  readonly servings: readonly (Serving | undefined)[];
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
}

export interface CallShape {
  readonly model: string;
  readonly kind: "chat" | "embedding";
  readonly trafficClass: string;
  readonly route: string;
}

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

/** Where a model is served for this caller, or why it is not. */
export function servingOf(
  view: OrganisationView,
  chain: CallerChain,
  name: string,
  kind: string,
  nowMs: number,
): ServingResult {
  const model = view.models.get(name);
  if (!model || model.disabled || model.kind !== kind) return denial("model_not_found", { model: name });
  if (!isModelAllowed(chain.policy, name)) return denial("model_not_allowed", { model: name });
  const isTest = chain.environment === "test";
  if (isTest && model.isExternal) return denial("environment_forbidden", { model: name });
  const usable = model.deployments.flatMap((deployment) => {
    const provider = view.providers.get(deployment.providerId);
    return provider && !provider.disabled && !(isTest && provider.isExternal) ? [{ deployment, provider }] : [];
  });
  const chosen = usable.reduce(
    (best, entry) => (best === undefined || entry.deployment.priority > best.deployment.priority ? entry : best),
    usable[0],
  );
  if (!chosen) return denial(isTest ? "environment_forbidden" : "model_not_found", { model: name });
  const price = priceAt(model, nowMs);
  if (!price || !isPriced(price.rates, kind)) return denial("price_missing", { model: name });
  const fxRate = fxAt(view, price.currency, nowMs);
  if (fxRate === undefined) return denial("price_missing", { model: name });
  return { model, ...chosen, price, fxRate };
}

function isServing(result: ServingResult): result is Exclude<ServingResult, Denial> {
  return !("kind" in result);
}

function headPartOf({ model, provider, deployment, price, fxRate }: Exclude<ServingResult, Denial>): string {
  const part = {
    modelServed: model.name,
    providerId: provider.id,
    deploymentId: deployment.id,
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

function compile(view: OrganisationView, chain: CallerChain, shape: CallShape, nowMs: number): CompiledCall | Denial {
  const asked = servingOf(view, chain, shape.model, shape.kind, nowMs);
  if (!isServing(asked)) return asked;
  const decision = decide({
    policy: chain.policy,
    budgets: chain.budgets,
    scope: { model: shape.model, trafficClass: shape.trafficClass, environment: chain.environment },
    isVip: chain.isVip,
    canServe: (name) => isServing(servingOf(view, chain, name, shape.kind, nowMs)),
  });
  const servings = decision.plans.map((plan): Serving | undefined => {
    if (plan.kind === "deny") return undefined;
    const serving = servingOf(view, chain, plan.model, shape.kind, nowMs);
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
    rateLimits: chain.rateLimits,
    windowStartMs: Math.min(startMs, nowMs),
    windowEndMs: Math.min(endMs, nextPriceChange(view, nowMs)),
    lines,
    resetsAtMs,
    linePrefixes: lines.map((line) => `{"b":"${line.budgetId}","p":"${line.periodId}","m":"${line.meter}","a":"`),
    headOpening: `${JSON.stringify(opening).slice(0, -1)},`,
    headServings: servings.map((serving) => (serving ? `${headPartOf(serving)},` : "")),
  };
}

const MAX_COMPILED_PER_KEY = 64;

/** The compiled call, from the chain's memory while its window lasts. `nowMs` is the store's time. */
export function compiledCall(
  view: OrganisationView,
  chain: CallerChain,
  shape: CallShape,
  nowMs: number,
): CompiledCall | Denial {
  const id = `${shape.route} ${shape.trafficClass} ${shape.model}`;
  const known = chain.compiled.get(id);
  if (known && nowMs >= known.windowStartMs && nowMs < known.windowEndMs) return known;
  const fresh = compile(view, chain, shape, nowMs);
  if ("kind" in fresh) return fresh;
  if (chain.compiled.size >= MAX_COMPILED_PER_KEY) chain.compiled.clear();
  chain.compiled.set(id, fresh);
  return fresh;
}
