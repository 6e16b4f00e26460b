/** A price row with its texts turned into integers, once a row. */
import type { PriceRates, PriceWindow, TokenRateName, TokenRateTexts, UnitRateName } from "@/lib/domain/price-rates";
import { TOKEN_RATE_NAMES, UNIT_RATE_NAMES } from "@/lib/domain/price-rates";
import type { WEB_SEARCH_CONTEXTS } from "@/lib/domain/usage-event";
import { scaleMultiplier, scaleRate } from "./decimal";

/** A rate as it is written and as an integer of 1e-27. */
export interface Rate {
  readonly text: string;
  readonly value: bigint;
}

export type TokenRates = { readonly [name in TokenRateName]?: Rate };

export interface Step {
  readonly above: number;
  readonly rates: TokenRates;
  readonly services: ReadonlyMap<string, TokenRates>;
}

export interface ImageRate {
  readonly size: string | undefined;
  readonly quality: string | undefined;
  readonly perImage: Rate | undefined;
  readonly perPixel: Rate | undefined;
}

export interface CompiledRow {
  readonly base: TokenRates;
  readonly units: { readonly [name in UnitRateName]?: Rate };
  readonly images: readonly ImageRate[];
  readonly webSearch: { readonly [context in (typeof WEB_SEARCH_CONTEXTS)[number]]?: Rate };
  /** Lowest first, as are the tiers. */
  readonly steps: readonly Step[];
  readonly isGraduated: boolean;
  readonly isInclusive: boolean;
  readonly tiers: readonly { readonly upTo: number; readonly rates: TokenRates }[];
  readonly services: ReadonlyMap<string, TokenRates>;
  readonly windows: readonly { readonly window: PriceWindow; readonly rates: TokenRates }[];
  readonly regions: ReadonlyMap<string, bigint>;
  readonly speeds: ReadonlyMap<string, bigint>;
  readonly reasoningPricesOutput: boolean;
  /** Whether any token has a rate; a row without sells by other units alone. */
  readonly sellsTokens: boolean;
}

const compiledByRow = new WeakMap<PriceRates, CompiledRow>();

/** Compiles a row, or answers what it was compiled to before. Throws PriceError for a malformed text. */
export function compileRow(rates: PriceRates): CompiledRow {
  const known = compiledByRow.get(rates);
  if (known) return known;
  const row = compile(rates);
  compiledByRow.set(rates, row);
  return row;
}

function compile(rates: PriceRates): CompiledRow {
  const base = tokenRates(rates);
  const services = serviceRates(rates.services);
  const tiers = (rates.inputTiers ?? [])
    .map((tier) => ({ upTo: tier.upToTokens, rates: tokenRates(tier) }))
    .sort((a, b) => a.upTo - b.upTo);
  const steps = (rates.longContext?.steps ?? [])
    .map((step) => ({ above: step.aboveTokens, rates: tokenRates(step), services: serviceRates(step.services) }))
    .sort((a, b) => a.above - b.above);
  const windows = (rates.windows ?? []).map((window) => ({ window, rates: tokenRates(window.rates) }));
  const layers = [base, ...services.values(), ...[...tiers, ...steps, ...windows].map((layer) => layer.rates)];
  return {
    base,
    units: pick(rates, UNIT_RATE_NAMES),
    images: (rates.images ?? []).map((image) => ({
      size: image.size,
      quality: image.quality,
      perImage: toRate(image.perImage),
      perPixel: toRate(image.perPixel),
    })),
    webSearch: pick(rates.webSearch ?? {}, ["low", "medium", "high"]),
    steps,
    isGraduated: rates.longContext?.mode === "graduated",
    isInclusive: rates.longContext?.isInclusive ?? false,
    tiers,
    services,
    windows,
    regions: multipliers(rates.regionMultipliers),
    speeds: multipliers(rates.speedMultipliers),
    reasoningPricesOutput: rates.reasoningPricesOutput ?? false,
    sellsTokens: layers.some((layer) => Object.keys(layer).length > 0),
  };
}

function toRate(text: string | undefined): Rate | undefined {
  return text === undefined ? undefined : { text, value: scaleRate(text) };
}

function pick<Name extends string>(
  texts: { readonly [name in Name]?: string | undefined },
  names: readonly Name[],
): { readonly [name in Name]?: Rate } {
  const picked: { [name in Name]?: Rate } = {};
  for (const name of names) {
    const rate = toRate(texts[name]);
    if (rate !== undefined) picked[name] = rate;
  }
  return picked;
}

function tokenRates(texts: TokenRateTexts): TokenRates {
  return pick(texts, TOKEN_RATE_NAMES);
}

function serviceRates(services: PriceRates["services"]): ReadonlyMap<string, TokenRates> {
  return new Map(Object.entries(services ?? {}).map(([name, texts]) => [name, tokenRates(texts)]));
}

function multipliers(texts: Readonly<Record<string, string>> | undefined): ReadonlyMap<string, bigint> {
  return new Map(Object.entries(texts ?? {}).map(([name, text]) => [name, scaleMultiplier(text)]));
}
