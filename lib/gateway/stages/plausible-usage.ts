/** What was read of an answer's usage, and whether that can be. */
import type { TokenUsage } from "@/lib/domain/usage-event";
import type { Held } from "../exchange";
import type { RouteKind } from "../wire/routes/route-request";

export interface Reading {
  readonly usage: TokenUsage;
  readonly isEstimated: boolean;
}

/** Routes whose answers are text, so that their bytes tell about their tokens. */
export const TEXT_KINDS: ReadonlySet<RouteKind> = new Set(["chat", "responses", "completion", "messages", "gemini"]);

/**
 * A text has tokens, and so has what it answers: a count of none where some came (left out, negative, beyond all bounds) is none,
 * and ours stands in for it. `made` is asked only then.
 */
export function plausible({ request }: Held, reading: Reading, made: () => number): Reading {
  const { usage } = reading;
  if ((usage.inputTokens > 0 && usage.outputTokens > 0) || !TEXT_KINDS.has(request.kind)) return reading;
  const outputTokens = usage.outputTokens || made();
  const inputTokens = usage.inputTokens || request.inputGuess();
  if (outputTokens === usage.outputTokens && inputTokens === usage.inputTokens) return reading;
  return { usage: { ...usage, inputTokens, outputTokens }, isEstimated: true };
}
