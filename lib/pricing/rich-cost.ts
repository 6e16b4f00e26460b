/** Cost and bound of rows that say more than plain token rates. */
import type { Nanos } from "@/lib/domain/money";
import { assertAmount } from "@/lib/domain/money";
import type { CostComponent, TokenUsage } from "@/lib/domain/usage-event";
import type { CompiledRow, Rate } from "./compiled-row";
import { decimalText, divideHalfEven, NANO, ONE, PriceError } from "./decimal";
import type { EffectiveRates } from "./effective-rates";
import { effectiveRates, hasPassed, passedStep } from "./effective-rates";
import type { TokenPart } from "./token-parts";
import { cutParts, inputParts, outputParts } from "./token-parts";
import type { UnitPart } from "./unit-parts";
import { unitParts } from "./unit-parts";

/** Quantities count in thousandths: seconds have fractions. */
const THOUSAND = 1000n;
/** Multipliers are a product of two at 1e-6 each. */
export const FACTOR_ONE = ONE * ONE;
const FACTOR_DIGITS = 12;
export const RICH_DIVISOR = NANO * THOUSAND * FACTOR_ONE;

export function thousandths(quantity: number): bigint {
  return Number.isInteger(quantity) ? BigInt(quantity) * THOUSAND : BigInt(Math.round(quantity * 1000));
}

interface RatedPart {
  readonly kind: CostComponent["kind"];
  readonly quantity: number;
  readonly rate: Rate;
}

/** Slices of a count, each with the rates that hold in it. */
interface Slice {
  readonly from: number;
  readonly to: number;
  readonly rates: EffectiveRates;
}

/** See `costOf`. */
export function richCost(
  row: CompiledRow,
  usage: TokenUsage,
  atMs: number | undefined,
): { amount: Nanos; components: CostComponent[] } {
  const slices = slicesOf(row, usage, atMs);
  const inputTokens = inputParts(usage);
  const input: RatedPart[] = [];
  const output: RatedPart[] = [];
  for (const slice of slices) {
    addRated(input, inputTokens, slice, row);
    addRated(output, outputParts(usage, slice.rates, row.reasoningPricesOutput), slice, row);
  }
  const citations = citationPart(usage, slices);
  const tokens = [...input, ...output, ...citations];
  const units = chargedUnits(unitParts(row, usage), { input, output });
  if (tokens.length + units.length === 0 && usage.inputTokens + usage.outputTokens > 0) {
    throw new PriceError("no rate for tokens");
  }
  const factor = factorOf(row, usage);
  const multiplier = factor === FACTOR_ONE ? {} : { multiplier: decimalText(factor, FACTOR_DIGITS) };
  const total = sum(tokens) * factor + sum(units) * FACTOR_ONE;
  return {
    amount: assertAmount(divideHalfEven(total, RICH_DIVISOR)),
    components: [
      ...tokens.map(({ kind, quantity, rate }) => ({ kind, quantity, rate: rate.text, ...multiplier })),
      ...units.map(({ kind, quantity, rate }) => ({ kind, quantity, rate: rate.text })),
    ],
  };
}

function sum(parts: readonly RatedPart[]): bigint {
  return parts.reduce((total, part) => total + thousandths(part.quantity) * part.rate.value, 0n);
}

function slicesOf(row: CompiledRow, usage: TokenUsage, atMs: number | undefined): Slice[] {
  const choice = { inputTokens: usage.inputTokens, serviceTier: usage.serviceTier, atMs };
  if (!row.isGraduated) {
    const rates = effectiveRates(row, passedStep(row, usage.inputTokens), choice);
    return [{ from: 0, to: Number.MAX_SAFE_INTEGER, rates }];
  }
  // Each side is graduated by its own count, up to and with the threshold at the rate below it.
  const longest = Math.max(usage.inputTokens, usage.outputTokens);
  const bounds = [undefined, ...row.steps.filter((step) => hasPassed(row, step, longest))];
  const startOf = (index: number): number => {
    const step = bounds[index];
    if (index >= bounds.length) return Number.MAX_SAFE_INTEGER;
    return step === undefined ? 0 : step.above - (row.isInclusive && step.above > 0 ? 1 : 0);
  };
  return bounds.map((step, index) => ({
    from: startOf(index),
    to: startOf(index + 1),
    rates: effectiveRates(row, step, choice),
  }));
}

function addRated(list: RatedPart[], parts: readonly TokenPart[], slice: Slice, row: CompiledRow): void {
  const isWhole = slice.from === 0 && slice.to === Number.MAX_SAFE_INTEGER;
  for (const { kind, quantity, rateName } of isWhole ? parts : cutParts(parts, slice.from, slice.to)) {
    if (quantity === 0) continue;
    const rate = slice.rates[rateName];
    if (rate) list.push({ kind, quantity, rate });
    // A row that sells by picture, page or second says nothing of the tokens its answers may count.
    else if (row.sellsTokens) throw new PriceError(`no rate for ${kind} tokens`);
  }
}

function citationPart(usage: TokenUsage, slices: readonly Slice[]): RatedPart[] {
  const quantity = usage.citationTokens ?? 0;
  if (quantity === 0) return [];
  const rate = slices[0]?.rates.citationPerToken;
  if (!rate) throw new PriceError("no rate for citation tokens");
  return [{ kind: "citation", quantity, rate }];
}

function isPaid(parts: readonly RatedPart[]): boolean {
  return parts.some((part) => part.rate.value > 0n);
}

/** Units that are charged beside the tokens. Throws PriceError where one is neither priced nor paid by token. */
function chargedUnits(
  parts: readonly UnitPart[],
  tokens: { readonly input: readonly RatedPart[]; readonly output: readonly RatedPart[] },
): RatedPart[] {
  const hasTokens = tokens.input.length + tokens.output.length > 0;
  return parts.flatMap(({ kind, role, quantity, rate, isUnsized }) => {
    if ((role === "input" || role === "output") && isPaid(tokens[role])) return [];
    if (rate) return [{ kind, quantity, rate }];
    if (role !== "fee" && hasTokens && isUnsized !== true) return [];
    throw new PriceError(`no rate for ${kind}`);
  });
}

function factorOf(row: CompiledRow, usage: TokenUsage): bigint {
  const region = usage.region === undefined ? undefined : row.regions.get(usage.region);
  const speed = usage.speed === undefined ? undefined : row.speeds.get(usage.speed);
  return (region ?? ONE) * (speed ?? ONE);
}
