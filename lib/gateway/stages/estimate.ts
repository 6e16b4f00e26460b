/** Upper bounds of tokens and cost for every plan that would serve the call. Holds round up. */
import { convertNanos } from "@/lib/domain/money";
import type { MeterAmounts } from "@/lib/domain/lines";
import { meterAmounts } from "@/lib/domain/lines";
import { boundOf } from "@/lib/pricing/cost";
import type { CompiledCall, Serving } from "../compiled-call";
import type { ParsedRequest } from "../wire/openai-request";

export interface Estimate {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Nanos of the organisation's currency. */
  readonly cost: bigint;
  readonly amounts: MeterAmounts;
  readonly writtenCap: number | null;
}

/** What one serving of the call can cost at the most. Throws MoneyError where that leaves the range of the ledger. */
export function estimateServing(request: ParsedRequest, serving: Serving, outputCapTokens: number): Estimate {
  const stated = request.outputCap;
  const cap = stated ?? Math.min(outputCapTokens, serving.model.maxOutputTokens ?? outputCapTokens);
  const outputTokens = cap * request.choices + request.extraOutput;
  const inPrice = boundOf({ inputTokens: request.inputBound, outputTokens, rates: serving.price.rates });
  const cost = serving.fxRate === null ? inPrice : convertNanos(inPrice, serving.fxRate, "up");
  return {
    inputTokens: request.inputBound,
    outputTokens,
    cost,
    amounts: meterAmounts(cost, request.inputBound, outputTokens),
    writtenCap: stated === null ? cap : null,
  };
}

/** By plan number; undefined for denials. A plan that serves the same model as an earlier one shares its estimate. */
export function estimatePlans(
  request: ParsedRequest,
  call: CompiledCall,
  outputCapTokens: number,
): readonly (Estimate | undefined)[] {
  let first: { serving: Serving; estimate: Estimate } | undefined;
  return call.servings.map((serving) => {
    if (!serving) return undefined;
    if (first?.serving.model === serving.model) return first.estimate;
    const estimate = estimateServing(request, serving, outputCapTokens);
    first ??= { serving, estimate };
    return estimate;
  });
}
