/** The most a call can cost under a row that says more than plain token rates. */
import type { Nanos } from "@/lib/domain/money";
import { assertAmount } from "@/lib/domain/money";
import type { TokenRateName } from "@/lib/domain/price-rates";
import type { TokenUsage } from "@/lib/domain/usage-event";
import type { CompiledRow, TokenRates } from "./compiled-row";
import { divideUp, largest, ONE, PriceError } from "./decimal";
import { hasPassed } from "./effective-rates";
import { FACTOR_ONE, RICH_DIVISOR, thousandths } from "./rich-cost";
import type { UnitPart, UnitRole } from "./unit-parts";
import { unitParts } from "./unit-parts";

/** Kinds of tokens that a call may be known not to have. */
export type Medium = "audioInput" | "imageInput" | "audioOutput" | "imageOutput";

export interface BoundOptions {
  /** Units the call may use at the most: seconds, characters, pictures, pages, searches, citations. */
  readonly units?: Partial<TokenUsage>;
  /** Service tiers that may be served besides the ordinary one; every tier of the row unless given. */
  readonly serviceTiers?: readonly string[];
  /** The tier that serves the call for certain, the ordinary one ruled out: lines of a batch. */
  readonly servedTier?: string;
  /** The most tokens one call has, where the counts are of several: what thresholds are compared with. */
  readonly longestTokens?: number;
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

/** The dearest rates of each side; undefined where the row has none. */
interface Dearest {
  readonly input: bigint | undefined;
  readonly output: bigint | undefined;
  readonly citation: bigint;
  readonly factor: bigint;
}

/** Callers choose among few options, but some of them hold words of their requests. */
const MAX_KNOWN = 256;
const knownByRow = new WeakMap<CompiledRow, Map<string, Dearest>>();

/** See `boundOf`. */
export function richBound(row: CompiledRow, inputTokens: number, outputTokens: number, options: BoundOptions): Nanos {
  const longest = options.longestTokens ?? Math.max(inputTokens, row.isGraduated ? outputTokens : 0);
  const dearest = dearestOf(row, longest, options);
  if (dearest.input === undefined && inputTokens > 0 && row.sellsTokens)
    throw new PriceError("no rate for input tokens");
  const units = unitParts(row, options.units ?? {});
  const side = (role: "input" | "output", tokens: number): bigint => {
    // Seconds, characters and pictures are charged where tokens are not, never beside them.
    const byToken = thousandths(tokens) * (dearest[role] ?? 0n) * dearest.factor;
    const byUnit = sumUnits(units, [role], byToken > 0n);
    return byToken > byUnit ? byToken : byUnit;
  };
  const citations = thousandths(options.units?.citationTokens ?? 0) * dearest.citation * dearest.factor;
  const fees = sumUnits(units, ["fee", "extra"], false);
  const total = side("input", inputTokens) + side("output", outputTokens) + citations + fees;
  return assertAmount(divideUp(total, RICH_DIVISOR));
}

function dearestOf(row: CompiledRow, tokens: number, options: BoundOptions): Dearest {
  const steps = row.steps.filter((step) => hasPassed(row, step, tokens)).length;
  const tiers = row.tiers.filter((_, index) => index === 0 || tokens > (row.tiers[index - 1]?.upTo ?? 0)).length;
  const { serviceTiers, servedTier, without, region, speed } = options;
  const services = servedTier === undefined ? (serviceTiers?.join() ?? "*") : `only ${servedTier}`;
  const key = [steps, tiers, services, without?.join(), region ?? "*", speed ?? "*"].join(" ");
  const known = knownByRow.get(row) ?? new Map<string, Dearest>();
  knownByRow.set(row, known);
  const found = known.get(key);
  if (found) return found;
  const reached = { steps, tiers };
  const layers =
    servedTier === undefined ? layersOf(row, reached, serviceTiers) : layersOfTier(row, reached, servedTier);
  const among = (names: readonly TokenRateName[]): bigint | undefined => {
    const rates = layers.flatMap((layer) => names.flatMap((name) => layer[name]?.value ?? []));
    return rates.length === 0 ? undefined : largest(rates);
  };
  const media = (...list: Medium[]): TokenRateName[] =>
    list.filter((medium) => !without?.includes(medium)).flatMap((medium) => MEDIUM_RATES[medium]);
  const dearest: Dearest = {
    input: among([...INPUT_RATES, ...media("audioInput", "imageInput")]),
    output: among([...OUTPUT_RATES, ...media("audioOutput", "imageOutput")]),
    citation: among(["citationPerToken"]) ?? 0n,
    factor: dearestFactor(row.regions, region) * dearestFactor(row.speeds, speed),
  };
  if (known.size < MAX_KNOWN) known.set(key, dearest);
  return dearest;
}

/** Every set of rates that may hold for a call that reaches so many of the row's steps and tiers. */
function layersOf(
  row: CompiledRow,
  reached: { readonly steps: number; readonly tiers: number },
  serviceTiers: readonly string[] | undefined,
): TokenRates[] {
  const ofServices = (services: ReadonlyMap<string, TokenRates>): TokenRates[] =>
    [...services].filter(([name]) => serviceTiers?.includes(name) ?? true).map(([, rates]) => rates);
  return [
    row.base,
    ...ofServices(row.services),
    ...row.tiers.slice(0, reached.tiers).map((tier) => tier.rates),
    ...row.steps.slice(0, reached.steps).flatMap((step) => [step.rates, ...ofServices(step.services)]),
    ...row.windows.map((window) => window.rates),
  ];
}

/** Likewise where one service tier is certain: a rate that it names stands in the place of the ordinary one. */
function layersOfTier(
  row: CompiledRow,
  reached: { readonly steps: number; readonly tiers: number },
  tier: string,
): TokenRates[] {
  const service = row.services.get(tier);
  return [
    { ...row.base, ...service },
    ...row.tiers.slice(0, reached.tiers).map(({ rates }) => ({ ...rates, ...service })),
    ...row.steps.slice(0, reached.steps).map(({ rates, services }) => ({ ...rates, ...services.get(tier) })),
    ...row.windows.map((window) => window.rates),
  ];
}

/** A factor below 1 is no promise that it will be applied. */
function dearestFactor(factors: ReadonlyMap<string, bigint>, certain: string | undefined): bigint {
  return certain === undefined ? largest([ONE, ...factors.values()]) : (factors.get(certain) ?? ONE);
}

function sumUnits(parts: readonly UnitPart[], roles: readonly UnitRole[], isPaidByToken: boolean): bigint {
  let total = 0n;
  for (const part of parts) {
    if (!roles.includes(part.role)) continue;
    if (part.rate) total += thousandths(part.quantity) * part.rate.value;
    else if (part.isUnsized === true || (!isPaidByToken && part.role !== "extra")) {
      throw new PriceError(`no rate for ${part.kind}`);
    }
  }
  return total * FACTOR_ONE;
}
