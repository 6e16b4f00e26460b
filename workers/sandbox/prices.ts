/**
 * What a call to the sandbox costs: its own price table and its own arithmetic, on purpose shared with nobody, so that
 * its bill is an independent book. Prices are decimal USD per 1,000,000 units; amounts are integer nanos (1e-9 USD),
 * rounded half to even once per call.
 */
import { type BasePrices, PRICE_LIST, type PricedUnit, type PriceListEntry } from "./price-list";

export interface SandboxModel extends PriceListEntry {
  /** Its place in `MODELS`. */
  readonly index: number;
}

export const MODELS: readonly SandboxModel[] = PRICE_LIST.map((entry, index) => ({ ...entry, index }));

const MODEL_BY_ID = new Map(MODELS.map((model) => [model.id, model]));

export function findModel(id: string): SandboxModel | undefined {
  return MODEL_BY_ID.get(id);
}

/** Token counts of one call. `cachedTokens` is the part of `promptTokens` that was read from the provider's cache. */
export interface TokenCounts {
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly completionTokens: number;
}

/**
 * What a call used besides plain text tokens. Cache writes, input audio and input images are parts of `promptTokens`;
 * output audio, output images and reasoning are parts of `completionTokens` (reasoning has no price of its own).
 */
export interface Extras extends Partial<Readonly<Record<PricedUnit, number>>> {
  readonly reasoningTokens?: number;
  readonly images?: number;
  /** Quality and size of the images, for models that charge by the picture. */
  readonly imageKind?: string;
  /** The tier that served the call; `batch` for lines of a batch. */
  readonly serviceTier?: string;
  readonly inferenceGeo?: string;
}

interface Rates {
  readonly input: bigint;
  readonly cachedInput: bigint;
  readonly output: bigint;
}

const UNITS_PER_PRICE = 1_000_000n;
/** By model index. */
const RATES: readonly Rates[] = MODELS.map(ratesOf);
const LONG_RATES: readonly (Rates | undefined)[] = MODELS.map(({ longContext }) => longContext && ratesOf(longContext));
const PARTS_OF_INPUT: readonly PricedUnit[] = [
  "cacheWriteTokens",
  "cacheWrite1hTokens",
  "audioInputTokens",
  "imageInputTokens",
];
const PARTS_OF_OUTPUT: readonly PricedUnit[] = ["audioOutputTokens", "imageOutputTokens"];
const SEPARATE_UNITS: readonly PricedUnit[] = ["seconds", "characters", "searches", "searchUnits"];
/** Twice the factor, so that halves are whole. `scale` is prepaid. */
const TWICE_TIER_FACTOR = new Map([
  ["flex", 1n],
  ["batch", 1n],
  ["priority", 4n],
  ["scale", 0n],
]);
const TENTHS_IN_US = 11n;

/** The price of one call in nanos. */
export function costNanos(model: SandboxModel, counts: TokenCounts, extras?: Extras): bigint {
  const long = model.longContext !== undefined && counts.promptTokens > model.longContext.overTokens;
  const rates = (long ? LONG_RATES : RATES)[model.index];
  if (rates === undefined) throw new Error(`The sandbox does not sell ${model.id}`);
  const exact =
    BigInt(counts.promptTokens - counts.cachedTokens) * rates.input +
    BigInt(counts.cachedTokens) * rates.cachedInput +
    BigInt(counts.completionTokens) * rates.output;
  if (extras === undefined) return roundHalfEven(exact, UNITS_PER_PRICE);
  const twiceFactor = TWICE_TIER_FACTOR.get(extras.serviceTier ?? "default") ?? 2n;
  const tenths = extras.inferenceGeo === "us" ? TENTHS_IN_US : 10n;
  const tokens = (exact + differenceOfParts(model, extras, rates)) * twiceFactor * tenths;
  // Fees beside the tokens do not follow the tier of the tokens.
  return roundHalfEven(tokens + separateFees(model, extras) * 20n, UNITS_PER_PRICE * 20n);
}

/** What the special kinds of tokens cost more (or less) than the plain tokens as which they have been counted. */
function differenceOfParts(model: SandboxModel, extras: Extras, rates: Rates): bigint {
  let difference = 0n;
  for (const unit of PARTS_OF_INPUT) difference += partOf(model, extras, unit, rates.input);
  for (const unit of PARTS_OF_OUTPUT) difference += partOf(model, extras, unit, rates.output);
  return difference;
}

function partOf(model: SandboxModel, extras: Extras, unit: PricedUnit, plainRate: bigint): bigint {
  const own = model.unitPrices?.[unit];
  return own === undefined ? 0n : BigInt(extras[unit] ?? 0) * (nanosOf(own) - plainRate);
}

function separateFees(model: SandboxModel, extras: Extras): bigint {
  let fees = 0n;
  for (const unit of SEPARATE_UNITS) {
    const own = model.unitPrices?.[unit];
    if (own !== undefined) fees += BigInt(extras[unit] ?? 0) * nanosOf(own);
  }
  const imagePrice = model.imagePrices?.[extras.imageKind ?? ""];
  if (imagePrice !== undefined) fees += BigInt(extras.images ?? 0) * nanosOf(imagePrice);
  return fees;
}

function ratesOf(prices: BasePrices): Rates {
  return {
    input: nanosOf(prices.inputPrice),
    cachedInput: nanosOf(prices.cachedInputPrice),
    output: nanosOf(prices.outputPrice),
  };
}

function roundHalfEven(exact: bigint, divisor: bigint): bigint {
  const quotient = exact / divisor;
  const twice = (exact % divisor) * 2n;
  const roundUp = twice > divisor || (twice === divisor && quotient % 2n === 1n);
  return roundUp ? quotient + 1n : quotient;
}

/** Nanos of a constant of the price list, which has at most nine digits after the point. */
function nanosOf(price: string): bigint {
  const [whole = "0", fraction = ""] = price.split(".");
  return BigInt(whole + fraction.padEnd(9, "0"));
}
