/**
 * Which rates of a row hold for a call. Length, service tier and hour may each change a rate. A row may state what two of
 * length and tier make together; where it does not, the dearer of the two holds, since a bill that is too small is the
 * worse mistake. A rate that nothing changes is that of the row.
 */
import type { TokenRateName } from "@/lib/domain/price-rates";
import { TOKEN_RATE_NAMES } from "@/lib/domain/price-rates";
import type { CompiledRow, Rate, Step, TokenRates } from "./compiled-row";
import { isWindowOpen } from "./price-window";

export interface RateChoice {
  readonly inputTokens: number;
  readonly serviceTier: string | undefined;
  /** Start of the call, Unix ms. Unknown: every window may hold, and the dearest rate does. */
  readonly atMs: number | undefined;
}

/** What a row sells each kind of token at, substitutes filled in; undefined where it names no rate. */
export type EffectiveRates = { readonly [name in TokenRateName]: Rate | undefined };

const CACHE_RATES: ReadonlySet<TokenRateName> = new Set([
  "cacheReadPerToken",
  "cacheWritePerToken",
  "cacheWrite1hPerToken",
  "audioCacheReadPerToken",
  "imageCacheReadPerToken",
]);

/** The highest step that the input has passed, for rows that price the whole request by it. */
export function passedStep(row: CompiledRow, inputTokens: number): Step | undefined {
  return row.steps.findLast((step) => hasPassed(row, step, inputTokens));
}

export function hasPassed(row: CompiledRow, step: Step, tokens: number): boolean {
  return tokens > step.above || (row.isInclusive && tokens === step.above);
}

const knownByRow = new WeakMap<CompiledRow, Map<string, EffectiveRates>>();

/** The rates of one step of the row (undefined: below all of them) for a call. */
export function effectiveRates(row: CompiledRow, step: Step | undefined, choice: RateChoice): EffectiveRates {
  if (row.windows.length > 0) return combine(row, step, choice);
  // Without hours there are few combinations: steps x tiers x the service tiers that the row names.
  const { serviceTier } = choice;
  const isNamed =
    serviceTier !== undefined && (row.services.has(serviceTier) || step?.services.has(serviceTier) === true);
  const key = `${step?.above ?? ""} ${tierIndex(row, choice.inputTokens)} ${isNamed ? serviceTier : ""}`;
  const known = knownByRow.get(row) ?? new Map<string, EffectiveRates>();
  knownByRow.set(row, known);
  const rates = known.get(key) ?? combine(row, step, choice);
  known.set(key, rates);
  return rates;
}

function combine(row: CompiledRow, step: Step | undefined, choice: RateChoice): EffectiveRates {
  const { serviceTier, atMs } = choice;
  const base = baseRates(row, choice.inputTokens);
  const service = serviceTier === undefined ? undefined : row.services.get(serviceTier);
  const both = serviceTier === undefined ? undefined : step?.services.get(serviceTier);
  const isCertain = atMs !== undefined;
  const windows = row.windows.filter(({ window }) => !isCertain || isWindowOpen(window, atMs));
  const chosen: { [name in TokenRateName]?: Rate } = {};
  for (const name of TOKEN_RATE_NAMES) {
    let rate = both?.[name] ?? dearer(step?.rates[name], service?.[name]);
    for (const window of windows) rate = dearer(rate, window.rates[name]);
    if (!isCertain && windows.length > 0) rate = dearer(rate, base[name]);
    rate ??= base[name];
    if (rate !== undefined) chosen[name] = rate;
  }
  return withSubstitutes(chosen);
}

function tierIndex(row: CompiledRow, inputTokens: number): number {
  const index = row.tiers.findIndex((tier) => inputTokens <= tier.upTo);
  return index < 0 ? row.tiers.length - 1 : index;
}

function baseRates(row: CompiledRow, inputTokens: number): TokenRates {
  const tier = row.tiers[tierIndex(row, inputTokens)];
  if (tier === undefined) return row.base;
  const rates: { [name in TokenRateName]?: Rate } = {};
  for (const name of TOKEN_RATE_NAMES) {
    // A cache rate of the row belongs to the row's input rate, so it falls with it.
    const isReplaced = tier.rates.inputPerToken !== undefined && CACHE_RATES.has(name);
    const rate = tier.rates[name] ?? (isReplaced ? undefined : row.base[name]);
    if (rate !== undefined) rates[name] = rate;
  }
  return rates;
}

function dearer(a: Rate | undefined, b: Rate | undefined): Rate | undefined {
  if (a === undefined) return b;
  return b !== undefined && b.value > a.value ? b : a;
}

/**
 * Never free for want of a rate: cache counts are input, an hour's write is a write, pictures and sound are sold at the
 * text rate of their side where a row has one price for all. Cached sound falls to the cached rate only where sound has no
 * price of its own. Reasoning stays undefined: it is output then.
 */
function withSubstitutes(rates: TokenRates): EffectiveRates {
  const { inputPerToken, outputPerToken, audioInputPerToken, imageInputPerToken } = rates;
  const cacheReadPerToken = rates.cacheReadPerToken ?? inputPerToken;
  const cacheWritePerToken = rates.cacheWritePerToken ?? inputPerToken;
  return {
    inputPerToken,
    outputPerToken,
    cacheReadPerToken,
    cacheWritePerToken,
    cacheWrite1hPerToken: rates.cacheWrite1hPerToken ?? cacheWritePerToken,
    reasoningPerToken: rates.reasoningPerToken,
    audioInputPerToken: audioInputPerToken ?? inputPerToken,
    audioOutputPerToken: rates.audioOutputPerToken ?? outputPerToken,
    audioCacheReadPerToken: rates.audioCacheReadPerToken ?? audioInputPerToken ?? cacheReadPerToken,
    imageInputPerToken: imageInputPerToken ?? inputPerToken,
    imageOutputPerToken: rates.imageOutputPerToken ?? outputPerToken,
    imageCacheReadPerToken: rates.imageCacheReadPerToken ?? imageInputPerToken ?? cacheReadPerToken,
    citationPerToken: rates.citationPerToken,
  };
}
