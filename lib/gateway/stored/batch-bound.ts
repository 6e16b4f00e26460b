/** What a batch file asks for, in sums, and what that can cost at the most. */
import type { ModelDocument } from "@/lib/domain/snapshot";
import type { BatchInput } from "@/lib/domain/stored-object";
import { meterAmounts } from "@/lib/domain/lines";
import { convertNanos } from "@/lib/domain/money";
import { BATCH_TIER } from "@/lib/pricing/batch-cost";
import { boundOfCalls } from "@/lib/pricing/many-calls";
import type { Serving } from "../serving";
import type { Estimate } from "../stages/estimate";
import { inputBound } from "../stages/estimate";
import { ALL_MEDIA } from "../stages/units";
import type { JsonRequest } from "../wire/routes/route-request";
import { NO_EXTRAS } from "../wire/routes/route-request";

/** Sums over the lines of one file. */
export class BatchSums {
  private lines = 0;
  private inputTokens = 0;
  private outputTokens = 0;
  private longestTokens = 0;
  private isPlainText = true;
  private hasAudioOutput = false;
  private readonly endUsers = new Set<string | null>();

  /** `cap`: output tokens of one choice, as they are stated or will be written in. */
  add(request: JsonRequest, model: ModelDocument, cap: number): void {
    const input = inputBound(request, model, undefined);
    const output = cap * request.choices + request.extraOutput;
    this.lines += 1;
    this.inputTokens += input;
    this.outputTokens += output;
    this.longestTokens = Math.max(this.longestTokens, input, output);
    this.isPlainText &&= request.extras === NO_EXTRAS;
    this.hasAudioOutput ||= request.extras.hasAudioOutput;
    if (this.endUsers.size < 2) this.endUsers.add(request.endUser);
  }

  /** Of a file with at least one line. */
  total(asked: Pick<BatchInput, "model" | "upstreamModel" | "route">): BatchInput {
    const { lines, inputTokens, outputTokens, longestTokens, isPlainText, hasAudioOutput } = this;
    const [endUser = null] = this.endUsers.size === 1 ? this.endUsers : [];
    return { ...asked, lines, inputTokens, outputTokens, longestTokens, isPlainText, hasAudioOutput, endUser };
  }
}

/** The most that the lines can cost together where they are served, at batch prices. Throws MoneyError and PriceError. */
export function estimateBatch(input: BatchInput, serving: Serving): Estimate {
  const { lines: calls, inputTokens, outputTokens, longestTokens, isPlainText } = input;
  const { region } = serving.target;
  const isSilent = input.route === "chat/completions" && !input.hasAudioOutput;
  const inPrice = boundOfCalls({ calls, inputTokens, outputTokens, longestTokens }, serving.price.rates, {
    ...{ servedTier: BATCH_TIER, speed: "standard" },
    without: isPlainText ? ALL_MEDIA : isSilent ? ["audioOutput"] : [],
    ...(region === null ? {} : { region: region.toLowerCase() }),
  });
  const cost = serving.fxRate === null ? inPrice : convertNanos(inPrice, serving.fxRate, "up");
  const amounts = meterAmounts(cost, Math.max(1, inputTokens), Math.max(1, outputTokens), calls);
  return { inputTokens, outputTokens, cost, amounts, writtenCap: null };
}
