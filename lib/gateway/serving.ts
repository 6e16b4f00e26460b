/**
 * Where a model is served for a caller, and what it costs there; or why it is not served. Walls stand here, once for the asked
 * model, a downgrade and whatever is tried after a failure: lists of models, environments, regions, kinds, prices.
 */
import type { ServePlan } from "@/lib/domain/decide";
import type { Denial } from "@/lib/domain/denial";
import { denial } from "@/lib/domain/denial";
import type { EffectivePolicy } from "@/lib/domain/policy";
import { commonRegions, FALLBACK_PRICE_ID, modelVerdict } from "@/lib/domain/policy";
import type { PriceRates } from "@/lib/domain/price-rates";
import type { ModelDocument, PriceDocument, ProviderDocument } from "@/lib/domain/snapshot";
import { isPriced } from "@/lib/pricing/cost";
import type { CallerChain, OrganisationView } from "./organisation-view";
import type { ProviderAdapter } from "./ports";
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

export interface CallShape {
  readonly model: string;
  /** Kinds of models that the route serves. */
  readonly kinds: readonly string[];
  readonly trafficClass: string;
  readonly route: string;
  /** Regions that the caller pins this call to, sorted; null where it does not. */
  readonly regions: readonly string[] | null;
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

/** A serving, whatever plan takes it. */
export type ServingFacts = Omit<Serving, "plan">;

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

/** The model's own price, else the policy's for models without one; undefined where neither can price this kind of model. */
function priceOf(model: ModelDocument, { fallbackPrice }: EffectivePolicy, nowMs: number): PriceDocument | undefined {
  const own = priceAt(model, nowMs);
  if (own && hasPrice(own.rates, model.kind)) return own;
  if (!fallbackPrice || !hasPrice(fallbackPrice.rates, model.kind)) return undefined;
  return { id: FALLBACK_PRICE_ID, ...fallbackPrice, effectiveFromMs: 0, effectiveToMs: null };
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

function notFor({ trafficClass }: Pick<CallShape, "trafficClass">): string {
  return `calls of the class ${trafficClass} may not use it`;
}

const OUT_OF_REGION = "it is not served in the regions that this call may go to";

function isIn(regions: readonly string[], region: string | null): boolean {
  return region !== null && regions.includes(region);
}

/** Where a model is served for this caller, or why it is not. */
export function servingOf(
  view: OrganisationView,
  chain: CallerChain,
  name: string,
  shape: Pick<CallShape, "kinds" | "trafficClass" | "route" | "regions">,
  nowMs: number,
  adapterOf: AdapterOf,
): ServingFacts | Denial {
  const model = view.models.get(name);
  if (!model || model.disabled) return denial("model_not_found", { model: name });
  const verdict = modelVerdict(chain.policy, name, shape.trafficClass);
  if (verdict === "denied") return denial("model_not_allowed", { model: name });
  if (verdict === "denied_to_class") return denial("model_not_allowed", { model: name, detail: notFor(shape) });
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
  const regions = commonRegions(chain.policy.regions, shape.regions);
  const near = regions === null ? usable : usable.filter(({ deployment }) => isIn(regions, deployment.region));
  if (near.length === 0) return denial("model_not_allowed", { model: name, detail: OUT_OF_REGION });
  const targets = near.flatMap(
    ({ deployment, provider }) => targetOf(shape.route, deployment, provider, adapterOf(provider)) ?? [],
  );
  const [target] = [...targets].sort((left, right) => left.priority - right.priority);
  if (!target) {
    return denial("invalid_request", { param: "model", detail: "no provider of this model serves this route" });
  }
  const price = priceOf(model, chain.policy, nowMs);
  if (!price) return denial("price_missing", { model: name });
  const fxRate = fxAt(view, price.currency, nowMs);
  if (fxRate === undefined) return denial("price_missing", { model: name });
  return { model, target, targets, price, isPlainPrice: isPlain(price.rates), fxRate };
}

export function isServing(result: ServingFacts | Denial): result is ServingFacts {
  return !("kind" in result);
}
