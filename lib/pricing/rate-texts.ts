/** Every rate that a price row states, by path: what linters and differences walk over. */
import type { PriceRates, TokenRateTexts } from "@/lib/domain/price-rates";
import { TOKEN_RATE_NAMES, UNIT_RATE_NAMES } from "@/lib/domain/price-rates";

export interface RateText {
  /** Stable between two editions of a row: steps and tiers go by their bound, not by their place. */
  readonly path: string;
  readonly name: string;
  readonly text: string;
  readonly unit: "token" | "unit" | "multiplier";
}

export function rateTexts(rates: PriceRates): RateText[] {
  const list = [...tokenTexts("", rates)];
  const add = (path: string, name: string, text: string | undefined, unit: RateText["unit"]): void => {
    if (text !== undefined) list.push({ path, name, text, unit });
  };
  for (const name of UNIT_RATE_NAMES) add(name, name, rates[name], "unit");
  for (const name of ["low", "medium", "high"] as const)
    add(`webSearch.${name}`, name, rates.webSearch?.[name], "unit");
  for (const image of rates.images ?? []) {
    const path = `images[${image.size ?? "*"},${image.quality ?? "*"}]`;
    add(`${path}.perImage`, "perImage", image.perImage, "unit");
    add(`${path}.perPixel`, "perPixel", image.perPixel, "unit");
  }
  list.push(...serviceTexts("", rates.services));
  for (const tier of rates.inputTiers ?? []) list.push(...tokenTexts(`inputTiers[${tier.upToTokens}].`, tier));
  for (const step of rates.longContext?.steps ?? []) {
    const path = `longContext[${step.aboveTokens}].`;
    list.push(...tokenTexts(path, step), ...serviceTexts(path, step.services));
  }
  (rates.windows ?? []).forEach((window, index) => list.push(...tokenTexts(`windows[${index}].`, window.rates)));
  for (const field of ["regionMultipliers", "speedMultipliers"] as const) {
    for (const [name, text] of Object.entries(rates[field] ?? {})) add(`${field}.${name}`, name, text, "multiplier");
  }
  return list;
}

function tokenTexts(prefix: string, texts: TokenRateTexts): RateText[] {
  return TOKEN_RATE_NAMES.flatMap((name) => {
    const text = texts[name];
    return text === undefined ? [] : [{ path: `${prefix}${name}`, name, text, unit: "token" as const }];
  });
}

function serviceTexts(prefix: string, services: PriceRates["services"]): RateText[] {
  return Object.entries(services ?? {}).flatMap(([name, texts]) => tokenTexts(`${prefix}services.${name}.`, texts));
}
