/** Upper bounds of tokens, units and cost for every plan that would serve the call. Holds round up. */
import { convertNanos } from "@/lib/domain/money";
import type { MeterAmounts } from "@/lib/domain/lines";
import { meterAmounts } from "@/lib/domain/lines";
import type { ModelDocument } from "@/lib/domain/snapshot";
import { boundOf } from "@/lib/pricing/cost";
import type { CompiledCall } from "../compiled-call";
import type { InputBound, InputTokens } from "../ports";
import type { Serving, ServingFacts } from "../serving";
import type { RouteRequest } from "../wire/routes/route-request";
import { boundOptions } from "./units";

export interface Estimate {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Nanos of the organisation's currency. */
  readonly cost: bigint;
  readonly amounts: MeterAmounts;
  readonly writtenCap: number | null;
  /** Of the whole call, where this is of a part of its output only. */
  readonly whole?: Estimate;
}

/** Input that was counted because money is tight. */
export interface CountedInput {
  readonly estimate: InputBound;
  readonly count: InputTokens;
}

/** By the model whose tokenizer counted. */
export type CountedInputs = ReadonlyMap<ModelDocument, CountedInput>;

/** Larger than any context window that is sold, for input that the body does not hold. */
const LARGEST_CONTEXT_TOKENS = 2_000_000;

/** No model takes more input than its context, and a count is never above the bound of the body. */
export function inputBound(request: RouteRequest, model: ModelDocument, counted: CountedInputs | undefined): number {
  const { contextTokens } = model;
  if (request.extras.isContextUnbounded) return contextTokens ?? LARGEST_CONTEXT_TOKENS;
  const own = counted?.get(model);
  const bound = own ? Math.min(own.count.hold, request.inputBound) : request.inputBound;
  return contextTokens === null ? bound : Math.min(bound, contextTokens);
}

/** Output tokens of one choice: as stated, or what will be written in. */
export function capOf(request: RouteRequest, { maxOutputTokens }: ModelDocument, outputCapTokens: number): number {
  return request.outputCap ?? Math.min(outputCapTokens, maxOutputTokens ?? outputCapTokens);
}

/**
 * What one serving of the call can cost at the most. Throws MoneyError where that leaves the range of the ledger, PriceError
 * where the call may use something that the model's price does not name.
 */
export function estimateServing(
  request: RouteRequest,
  serving: ServingFacts,
  outputCapTokens: number,
  counted?: CountedInputs,
): Estimate {
  const stated = request.outputCap;
  const cap = capOf(request, serving.model, outputCapTokens);
  const outputTokens = cap * request.choices + request.extraOutput;
  const inputTokens = inputBound(request, serving.model, counted);
  return { ...boundedBy(request, serving, inputTokens, outputTokens), writtenCap: stated === null ? cap : null };
}

/** What a serving costs at the most with so many tokens. Throws as `estimateServing` does. */
function boundedBy(
  request: RouteRequest,
  serving: ServingFacts,
  inputTokens: number,
  outputTokens: number,
): Omit<Estimate, "writtenCap"> {
  const { rates } = serving.price;
  const inPrice =
    serving.isPlainPrice && request.extras.toolFees.length === 0
      ? boundOf({ inputTokens, outputTokens, rates })
      : boundOf({ inputTokens, outputTokens, rates, ...boundOptions(request, serving.target.region) });
  const converted = serving.fxRate === null ? inPrice : convertNanos(inPrice, serving.fxRate, "up");
  // What is free, or uses none of a kind of token, must still find room: a caller with nothing left makes no calls.
  const cost = converted === 0n ? 1n : converted;
  return {
    inputTokens,
    outputTokens,
    cost,
    amounts: meterAmounts(cost, Math.max(1, inputTokens), Math.max(1, outputTokens)),
  };
}

/** The same call with no more than so many output tokens; the whole where that is no more. */
export function estimatePart(
  request: RouteRequest,
  serving: ServingFacts,
  whole: Estimate,
  outputTokens: number,
): Estimate {
  if (outputTokens >= whole.outputTokens) return whole;
  const { inputTokens, writtenCap } = whole;
  return { ...boundedBy(request, serving, inputTokens, outputTokens), writtenCap, whole };
}

/** By plan number; undefined for denials. A plan that serves the same model as an earlier one shares its estimate. */
export function estimatePlans(
  request: RouteRequest,
  call: CompiledCall,
  outputCapTokens: number,
  counted?: CountedInputs,
): readonly (Estimate | undefined)[] {
  let first: { serving: Serving; estimate: Estimate } | undefined;
  return call.servings.map((serving) => {
    if (!serving) return undefined;
    if (first?.serving.model === serving.model) return first.estimate;
    const estimate = estimateServing(request, serving, outputCapTokens, counted);
    first ??= { serving, estimate };
    return estimate;
  });
}
