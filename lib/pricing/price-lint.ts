/**
 * Prices that look wrong. People slip a decimal point, mix up "per token" and "per million", and copy a cached price into
 * the write column; all of these are seen in public price maps. A warning never changes a price.
 */
import type { PriceRates } from "@/lib/domain/price-rates";
import { scaleRate } from "./decimal";
import type { RateText } from "./rate-texts";
import { rateTexts } from "./rate-texts";

export type PriceWarningCode =
  | "above_10000_per_million"
  | "hundredfold_of_last"
  | "below_hundredth_of_last"
  | "above_1000_per_million"
  | "cache_read_above_input"
  | "cache_write_below_input"
  | "output_below_input"
  | "discount_above_base"
  | "long_context_below_base"
  | "multiplier_below_one";

export interface PriceWarning {
  readonly path: string;
  readonly code: PriceWarningCode;
  readonly text: string;
  /** What it was compared with, where there is such a thing. */
  readonly than: string | null;
  /** Whether the price must not be taken over without somebody saying so. */
  readonly needsConfirmation: boolean;
}

const CONFIRMED: ReadonlySet<PriceWarningCode> = new Set(["above_10000_per_million", "hundredfold_of_last"]);
const TEN_THOUSAND_PER_MILLION = scaleRate("0.01");
const THOUSAND_PER_MILLION = scaleRate("0.001");
const TEN_THOUSAND = scaleRate("10000");
const HUNDRED = 100n;

/**
 * Warnings of a row, given the row it follows (in the same currency). Anything that is not a token is suspicious from
 * 10,000 units of currency apiece. Throws PriceError for a malformed rate.
 */
export function lintPrice(rates: PriceRates, last?: PriceRates): PriceWarning[] {
  const texts = rateTexts(rates);
  const before = new Map((last === undefined ? [] : rateTexts(last)).map((one) => [one.path, one.text]));
  return texts
    .flatMap((one) => (one.unit === "multiplier" ? [] : bySize(one, before.get(one.path))))
    .concat(byShape(texts));
}

/** Whether a price must be confirmed by a person before it is taken over. */
export function isSuspicious(rates: PriceRates, last?: PriceRates): boolean {
  return lintPrice(rates, last).some((warning) => warning.needsConfirmation);
}

function warning(code: PriceWarningCode, one: RateText, than: string | null = null): PriceWarning {
  return { path: one.path, code, text: one.text, than, needsConfirmation: CONFIRMED.has(code) };
}

function bySize(one: RateText, before: string | undefined): PriceWarning[] {
  const value = scaleRate(one.text);
  const found: PriceWarning[] = [];
  const bound = one.unit === "token" ? TEN_THOUSAND_PER_MILLION : TEN_THOUSAND;
  if (value > bound) found.push(warning("above_10000_per_million", one));
  else if (one.unit === "token" && value > THOUSAND_PER_MILLION) found.push(warning("above_1000_per_million", one));
  const last = before === undefined ? 0n : scaleRate(before);
  if (before !== undefined && last > 0n && value > last * HUNDRED) {
    found.push(warning("hundredfold_of_last", one, before));
  }
  if (before !== undefined && value * HUNDRED < last) found.push(warning("below_hundredth_of_last", one, before));
  return found;
}

/** Relations between the rates of one row that no vendor sells by. */
function byShape(texts: readonly RateText[]): PriceWarning[] {
  const byPath = new Map(texts.map((one) => [one.path, one]));
  const found: PriceWarning[] = [];
  const compare = (
    one: RateText,
    otherPath: string,
    code: PriceWarningCode,
    isWrong: (a: bigint, b: bigint) => boolean,
  ): void => {
    const other = byPath.get(otherPath);
    if (other && isWrong(scaleRate(one.text), scaleRate(other.text))) found.push(warning(code, one, other.text));
  };
  for (const one of texts) {
    const prefix = one.path.slice(0, one.path.length - one.name.length);
    const input = `${prefix}inputPerToken`;
    if (one.unit === "multiplier" && Number(one.text) < 1) found.push(warning("multiplier_below_one", one));
    if (one.unit !== "token") continue;
    if (one.name === "cacheReadPerToken") compare(one, input, "cache_read_above_input", (a, b) => a > b);
    // A free write is a fact of some vendors; a cheap one is a cached-read price in the wrong column.
    if (one.name === "cacheWritePerToken") compare(one, input, "cache_write_below_input", (a, b) => a > 0n && a < b);
    if (one.name === "outputPerToken") compare(one, input, "output_below_input", (a, b) => a > 0n && a < b);
    const base = prefix.replace(/services\.(?:batch|flex)\.$/u, "");
    if (base !== prefix) compare(one, `${base}${one.name}`, "discount_above_base", (a, b) => a > b);
    if (/^longContext\[\d+\]\.$/u.test(prefix)) compare(one, one.name, "long_context_below_base", (a, b) => a < b);
  }
  return found;
}
