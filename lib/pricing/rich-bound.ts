/** The most a call can cost under a row that says more than plain token rates. */
import type { Nanos } from "@/lib/domain/money";
import { assertAmount } from "@/lib/domain/money";
import type { TokenRateName } from "@/lib/domain/price-rates";
import type { TokenUsage } from "@/lib/domain/usage-event";
import type { CompiledRow, TokenRates } from "./compiled-row";
import { divideUp, largest, ONE, PriceError } from "./decimal";
import { hasPassed } from "./effective-rates";
import { FACTOR_ONE, RICH_DIVISOR, thousandths } from "./rich-cost";
import type { UnitPart } from "./unit-parts";
import { unitParts } from "./unit-parts";

/** Kinds of tokens that a call may be known not to have. */
export type Medium = "audioInput" | "imageInput" | "audioOutput" | "imageOutput";

export interface BoundOptions {
  /** Units the call may use at the most: seconds, characters, pictures, pages, searches, citations. */
  readonly units?: Partial<TokenUsage>;
  /** Service tiers that may be served besides the ordinary one; every tier of the row unless given. */
  readonly serviceTiers?: readonly string[];
  /** Where the call will be processed, and how fast, if that is certain. */
  readonly region?: string;
  readonly speed?: string;
  readonly without?: readonly Medium[];
}

const INPUT_RATES: readonly TokenRateName[] = [
  "inputPerToken",
  "cacheReadPerToken",
  "cacheWritePerToken",
  "cacheWrite1hPerToken",
];
const OUTPUT_RATES: readonly TokenRateName[] = ["outputPerToken", "reasoningPerToken"];
const MEDIUM_RATES: Readonly<Record<Medium, readonly TokenRateName[]>> = {
  audioInput: ["audioInputPerToken", "audioCacheReadPerToken"],
  imageInput: ["imageInputPerToken", "imageCacheReadPerToken"],
  audioOutput: ["audioOutputPerToken"],
  imageOutput: ["imageOutputPerToken"],
};

/** See `boundOf`. */
export function richBound(row: CompiledRow, inputTokens: number, outputTokens: number, options: BoundOptions): Nanos {
  const layers = layersOf(row, Math.max(inputTokens, row.isGraduated ? outputTokens : 0), options.serviceTiers);
  const mediumRates = (...media: Medium[]): TokenRateName[] =>
    media.filter((medium) => !options.without?.includes(medium)).flatMap((medium) => MEDIUM_RATES[medium]);
  const units = unitParts(row, options.units ?? {});
  const factor = dearestFactor(row.regions, options.region) * dearestFactor(row.speeds, options.speed);
  const side = (role: "input" | "output", tokens: number, names: readonly TokenRateName[]): bigint => {
    const rates = layers.flatMap((layer) => names.flatMap((name) => layer[name]?.value ?? []));
    if (rates.length === 0 && tokens > 0 && row.sellsTokens && role === "input") {
      throw new PriceError("no rate for input tokens");
    }
    // Seconds, characters and pictures are charged where tokens are not, never beside them.
    const byToken = thousandths(tokens) * largest(rates) * factor;
    const byUnit =
      sumUnits(
        units.filter((unit) => unit.role === role),
        byToken > 0n,
      ) * FACTOR_ONE;
    return byToken > byUnit ? byToken : byUnit;
  };
  const citations =
    thousandths(options.units?.citationTokens ?? 0) *
    largest(layers.flatMap((layer) => layer.citationPerToken?.value ?? [])) *
    factor;
  const fees =
    sumUnits(
      units.filter((unit) => unit.role === "fee" || unit.role === "extra"),
      false,
    ) * FACTOR_ONE;
  const total =
    side("input", inputTokens, [...INPUT_RATES, ...mediumRates("audioInput", "imageInput")]) +
    side("output", outputTokens, [...OUTPUT_RATES, ...mediumRates("audioOutput", "imageOutput")]) +
    citations +
    fees;
  return assertAmount(divideUp(total, RICH_DIVISOR));
}

/** Every set of rates that may hold for a call of up to so many tokens. */
function layersOf(row: CompiledRow, tokens: number, serviceTiers: readonly string[] | undefined): TokenRates[] {
  const ofServices = (services: ReadonlyMap<string, TokenRates>): TokenRates[] =>
    [...services].filter(([name]) => serviceTiers?.includes(name) ?? true).map(([, rates]) => rates);
  const tiers = row.tiers.filter((_, index) => index === 0 || tokens > (row.tiers[index - 1]?.upTo ?? 0));
  const steps = row.steps.filter((step) => hasPassed(row, step, tokens));
  return [
    row.base,
    ...ofServices(row.services),
    ...tiers.map((tier) => tier.rates),
    ...steps.flatMap((step) => [step.rates, ...ofServices(step.services)]),
    ...row.windows.map((window) => window.rates),
  ];
}

/** A factor below 1 is no promise that it will be applied. */
function dearestFactor(factors: ReadonlyMap<string, bigint>, certain: string | undefined): bigint {
  return certain === undefined ? largest([ONE, ...factors.values()]) : (factors.get(certain) ?? ONE);
}

function sumUnits(parts: readonly UnitPart[], isPaidByToken: boolean): bigint {
  return parts.reduce((total, part) => {
    if (part.rate) return total + thousandths(part.quantity) * part.rate.value;
    if (part.isUnsized === true || (!isPaidByToken && part.role !== "extra"))
      throw new PriceError(`no rate for ${part.kind}`);
    return total;
  }, 0n);
}
