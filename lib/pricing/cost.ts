/**
 * Usage to money, exactly. Rates are decimal texts per unit; they are scaled to integers once, multiplied exactly and
 * rounded once a call: half-even for what is settled, up for what is held.
 *
 * Rows that name plain token rates only, which is most of the traffic, take a short path chosen once a row; whatever else a
 * row or a call may say (`lib/domain/price-rates.ts`) is in `rich-cost.ts` and `rich-bound.ts`.
 */
import type { Nanos } from "@/lib/domain/money";
import { assertAmount } from "@/lib/domain/money";
import type { PriceRates } from "@/lib/domain/snapshot";
import type { CostComponent, TokenUsage } from "@/lib/domain/usage-event";
import type { CompiledRow } from "./compiled-row";
import { compileRow } from "./compiled-row";
import { divideHalfEven, divideUp, largest, NANO, PriceError, scaleRate } from "./decimal";
import type { BoundOptions } from "./rich-bound";
import { richBound } from "./rich-bound";
import { richCost } from "./rich-cost";

interface PlainRates {
  readonly input: bigint;
  readonly inputText: string;
  readonly output: bigint | undefined;
  readonly cacheRead: bigint;
  readonly cacheWrite: bigint;
  readonly reasoning: bigint | undefined;
  readonly perRequest: bigint;
  readonly dearestInput: bigint;
  readonly dearestOutput: bigint;
}

const PLAIN_FIELDS: ReadonlySet<string> = new Set([
  "inputPerToken",
  "outputPerToken",
  "cacheReadPerToken",
  "cacheWritePerToken",
  "reasoningPerToken",
  "perRequest",
]);

/** Null: the row says more than plain rates, or names no input rate. */
const plainByRow = new WeakMap<PriceRates, PlainRates | null>();

function plainRates(rates: PriceRates): PlainRates | null {
  const known = plainByRow.get(rates);
  if (known !== undefined) return known;
  const row = isPlain(rates) ? scalePlain(rates, rates.inputPerToken) : null;
  plainByRow.set(rates, row);
  return row;
}

function isPlain(rates: PriceRates): rates is PriceRates & { readonly inputPerToken: string } {
  const named = Object.entries(rates).flatMap(([name, value]) => (value === undefined ? [] : name));
  return rates.inputPerToken !== undefined && named.every((name) => PLAIN_FIELDS.has(name));
}

function scalePlain(rates: PriceRates, inputText: string): PlainRates {
  const input = scaleRate(inputText);
  const output = rates.outputPerToken === undefined ? undefined : scaleRate(rates.outputPerToken);
  // A missing cache rate is the input rate, a missing reasoning rate the output rate: never free.
  const cacheRead = rates.cacheReadPerToken === undefined ? input : scaleRate(rates.cacheReadPerToken);
  const cacheWrite = rates.cacheWritePerToken === undefined ? input : scaleRate(rates.cacheWritePerToken);
  const reasoning = rates.reasoningPerToken === undefined ? output : scaleRate(rates.reasoningPerToken);
  return {
    input,
    inputText,
    output,
    cacheRead,
    cacheWrite,
    reasoning,
    perRequest: rates.perRequest === undefined ? 0n : scaleRate(rates.perRequest),
    dearestInput: largest([input, cacheRead, cacheWrite]),
    dearestOutput: largest([output ?? 0n, reasoning ?? 0n]),
  };
}

/** Whether a call used what is not sold by the token; a plain row has no rate for it. */
function hasUnits(usage: TokenUsage): boolean {
  return (
    usage.webSearches !== undefined ||
    usage.images !== undefined ||
    usage.inputSeconds !== undefined ||
    usage.outputSeconds !== undefined ||
    usage.videoSeconds !== undefined ||
    usage.characters !== undefined ||
    usage.pages !== undefined ||
    usage.annotatedPages !== undefined ||
    usage.queries !== undefined ||
    usage.citationTokens !== undefined
  );
}

interface Part {
  readonly kind: CostComponent["kind"];
  readonly quantity: number;
  readonly rate: bigint | undefined;
  readonly text: string | undefined;
}

/**
 * What a call cost, in nanos of the price row's currency, with the parts it is made of. Cache, reasoning, sound and picture
 * tokens are parts of the input and output counts, never additions; parts larger than the whole are cut to it.
 * `atMs` is the start of the call (Unix ms), for rows with peak hours; without it their dearest hour is charged.
 * Throws PriceError where something was used for which the row has no rate.
 */
export function costOf(call: { readonly usage: TokenUsage; readonly rates: PriceRates; readonly atMs?: number }): {
  amount: Nanos;
  components: CostComponent[];
} {
  const { usage, rates } = call;
  const row = plainRates(rates);
  if (row === null || hasUnits(usage)) return richCost(compileRow(rates), usage, call.atMs);
  const cacheRead = Math.min(usage.cacheReadTokens, usage.inputTokens);
  const cacheWrite = Math.min(usage.cacheWriteTokens, usage.inputTokens - cacheRead);
  const reasoning = Math.min(usage.reasoningTokens, usage.outputTokens);
  const isReasoningApart = rates.reasoningPerToken !== undefined && reasoning > 0;
  const text = usage.outputTokens - (isReasoningApart ? reasoning : 0);
  const parts: Part[] = [
    { kind: "input", quantity: usage.inputTokens - cacheRead - cacheWrite, rate: row.input, text: row.inputText },
    { kind: "cache_read", quantity: cacheRead, rate: row.cacheRead, text: rates.cacheReadPerToken ?? row.inputText },
    {
      kind: "cache_write",
      quantity: cacheWrite,
      rate: row.cacheWrite,
      text: rates.cacheWritePerToken ?? row.inputText,
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
  return { amount: assertAmount(divideHalfEven(total, NANO)), components };
}

/**
 * The most a call of these token counts can cost, in nanos, rounded up: every token at the dearest rate that may apply to
 * its side, whichever part of it turns out to be cached, written, reasoned or spoken, at whatever hour, and at every
 * service tier, region and speed that `options` does not rule out; units at their number.
 * Throws PriceError where the row has no rate at all for something the call may use.
 */
export function boundOf(
  call: { readonly inputTokens: number; readonly outputTokens: number; readonly rates: PriceRates } & BoundOptions,
): Nanos {
  const row = plainRates(call.rates);
  if (row === null || call.units !== undefined) {
    return richBound(compileRow(call.rates), call.inputTokens, call.outputTokens, call);
  }
  const total =
    BigInt(call.inputTokens) * row.dearestInput + BigInt(call.outputTokens) * row.dearestOutput + row.perRequest;
  return assertAmount(divideUp(total, NANO));
}

/** Kinds of models that make no tokens. */
const WITHOUT_OUTPUT: ReadonlySet<string> = new Set(["embedding", "moderation", "rerank"]);

/** Whether what a call of this kind of model always uses has a rate. */
export function isPriced(rates: PriceRates, kind: string): boolean {
  const plain = plainRates(rates);
  if (plain !== null) return WITHOUT_OUTPUT.has(kind) || plain.output !== undefined;
  return isRowPriced(compileRow(rates), kind);
}

function isRowPriced(row: CompiledRow, kind: string): boolean {
  const { units } = row;
  const sells = (name: "inputPerToken" | "outputPerToken" | "audioOutputPerToken" | "imageOutputPerToken"): boolean =>
    row.base[name] !== undefined || (row.tiers.length > 0 && row.tiers.every((tier) => tier.rates[name] !== undefined));
  const input = sells("inputPerToken");
  const output = sells("outputPerToken");
  const sound = units.inputPerSecond !== undefined || units.outputPerSecond !== undefined;
  switch (kind) {
    case "embedding":
    case "moderation":
      return input || units.perCharacter !== undefined || units.perRequest !== undefined;
    case "image":
      return row.images.length > 0 || (units.perImage ?? units.perPixel) !== undefined || sells("imageOutputPerToken");
    case "transcription":
      return sound || (input && output);
    case "speech":
      return sound || units.perCharacter !== undefined || (input && (output || sells("audioOutputPerToken")));
    case "rerank":
    case "search":
      return units.perQuery !== undefined || units.perRequest !== undefined || input;
    case "ocr":
      return units.perPage !== undefined;
    case "video":
      return units.perVideoSecond !== undefined;
    default:
      return input && output;
  }
}
