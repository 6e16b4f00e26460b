/**
 * Tokens to money, exactly. Rates are decimal texts per unit; they are scaled to integers once, multiplied exactly and
 * rounded once a call: half-even for what is settled, up for what is held.
 */
import type { Nanos } from "@/lib/domain/money";
import { assertAmount } from "@/lib/domain/money";
import type { PriceRates } from "@/lib/domain/snapshot";
import type { CostComponent, TokenUsage } from "@/lib/domain/usage-event";

// Rates of the public price maps go down to 23 decimals; 27 keeps all of them whole numbers.
const SCALE_DIGITS = 27;
const NANO_DIGITS = 9;
const NANO_DIVISOR = 10n ** BigInt(SCALE_DIGITS - NANO_DIGITS);
const RATE = /^(\d{1,12})(?:\.(\d{1,27}))?$/u;

/** A rate that is not plain decimal text, or a quantity for which the price row names no rate. */
export class PriceError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "PriceError";
  }
}

function scale(text: string): bigint {
  const match = RATE.exec(text);
  if (!match) throw new PriceError("a rate is plain decimal text");
  return BigInt((match[1] ?? "0") + (match[2] ?? "").padEnd(SCALE_DIGITS, "0"));
}

interface ScaledRates {
  readonly input: bigint;
  readonly output: bigint | undefined;
  readonly cacheRead: bigint;
  readonly cacheWrite: bigint;
  readonly reasoning: bigint | undefined;
  readonly perRequest: bigint;
  readonly dearestInput: bigint;
  readonly dearestOutput: bigint;
}

const scaledByRow = new WeakMap<PriceRates, ScaledRates>();

function largest(values: readonly bigint[]): bigint {
  return values.reduce((high, value) => (value > high ? value : high), 0n);
}

function scaled(rates: PriceRates): ScaledRates {
  const known = scaledByRow.get(rates);
  if (known) return known;
  const input = scale(rates.inputPerToken);
  const output = rates.outputPerToken === undefined ? undefined : scale(rates.outputPerToken);
  // A missing cache rate is the input rate, a missing reasoning rate the output rate: never free.
  const cacheRead = rates.cacheReadPerToken === undefined ? input : scale(rates.cacheReadPerToken);
  const cacheWrite = rates.cacheWritePerToken === undefined ? input : scale(rates.cacheWritePerToken);
  const reasoning = rates.reasoningPerToken === undefined ? output : scale(rates.reasoningPerToken);
  const row: ScaledRates = {
    input,
    output,
    cacheRead,
    cacheWrite,
    reasoning,
    perRequest: rates.perRequest === undefined ? 0n : scale(rates.perRequest),
    dearestInput: largest([input, cacheRead, cacheWrite]),
    dearestOutput: largest([output ?? 0n, reasoning ?? 0n]),
  };
  scaledByRow.set(rates, row);
  return row;
}

function roundHalfEven(value: bigint): Nanos {
  const whole = value / NANO_DIVISOR;
  const twice = (value - whole * NANO_DIVISOR) * 2n;
  if (twice > NANO_DIVISOR || (twice === NANO_DIVISOR && whole % 2n === 1n)) return whole + 1n;
  return whole;
}

interface Part {
  readonly kind: CostComponent["kind"];
  readonly quantity: number;
  readonly rate: bigint | undefined;
  readonly text: string | undefined;
}

/**
 * What a call cost, in nanos of the price row's currency, with the parts it is made of. Cache and reasoning tokens are
 * parts of the input and output counts, never additions; parts larger than the whole are cut to it.
 * Throws PriceError where tokens were used for which the row has no rate.
 */
export function costOf(call: { readonly usage: TokenUsage; readonly rates: PriceRates }): {
  amount: Nanos;
  components: CostComponent[];
} {
  const { usage, rates } = call;
  const row = scaled(rates);
  const cacheRead = Math.min(usage.cacheReadTokens, usage.inputTokens);
  const cacheWrite = Math.min(usage.cacheWriteTokens, usage.inputTokens - cacheRead);
  const reasoning = Math.min(usage.reasoningTokens, usage.outputTokens);
  const isReasoningApart = rates.reasoningPerToken !== undefined && reasoning > 0;
  const text = usage.outputTokens - (isReasoningApart ? reasoning : 0);
  const parts: Part[] = [
    { kind: "input", quantity: usage.inputTokens - cacheRead - cacheWrite, rate: row.input, text: rates.inputPerToken },
    {
      kind: "cache_read",
      quantity: cacheRead,
      rate: row.cacheRead,
      text: rates.cacheReadPerToken ?? rates.inputPerToken,
    },
    {
      kind: "cache_write",
      quantity: cacheWrite,
      rate: row.cacheWrite,
      text: rates.cacheWritePerToken ?? rates.inputPerToken,
    },
    { kind: "output", quantity: text, rate: row.output, text: rates.outputPerToken },
    {
      kind: "reasoning",
      quantity: isReasoningApart ? reasoning : 0,
      rate: row.reasoning,
      text: rates.reasoningPerToken,
    },
    { kind: "request", quantity: rates.perRequest === undefined ? 0 : 1, rate: row.perRequest, text: rates.perRequest },
  ];
  let total = 0n;
  const components: CostComponent[] = [];
  for (const part of parts) {
    if (part.quantity === 0) continue;
    if (part.rate === undefined || part.text === undefined) throw new PriceError(`no rate for ${part.kind} tokens`);
    total += BigInt(part.quantity) * part.rate;
    components.push({ kind: part.kind, quantity: part.quantity, rate: part.text });
  }
  return { amount: assertAmount(roundHalfEven(total)), components };
}

/** The most a call of these token counts can cost, in nanos, at the dearest rate that may apply, rounded up. */
export function boundOf(call: {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly rates: PriceRates;
}): Nanos {
  const row = scaled(call.rates);
  const total =
    BigInt(call.inputTokens) * row.dearestInput + BigInt(call.outputTokens) * row.dearestOutput + row.perRequest;
  return assertAmount((total + NANO_DIVISOR - 1n) / NANO_DIVISOR);
}

/** Whether every token of a call of this kind has a rate. */
export function isPriced(rates: PriceRates, kind: string): boolean {
  return kind === "embedding" || rates.outputPerToken !== undefined;
}
