/** The usage object of OpenAI's chat, completions and embeddings answers (API reference, "usage") in our token dimensions. */
import type { TokenUsage } from "@/lib/domain/usage-event";

export const NO_USAGE: TokenUsage = {
  inputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
};

/** More is no count: the reader of all vendors says what is wrong with it. */
const MAX_COUNT = 1_000_000_000;

function count(value: unknown): number | undefined {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= MAX_COUNT ? value : undefined;
}

function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

/** DeepSeek and Moonshot name cached input at the top level. */
function cachedAtTop(usage: unknown): number {
  return count(member(usage, "prompt_cache_hit_tokens")) ?? count(member(usage, "cached_tokens")) ?? 0;
}

/**
 * Undefined where there is no usable usage: absent, not whole numbers, or all zero (a server that does not count says
 * nothing by it). Details are parts of their parents and may be absent.
 */
export function readOpenAiUsage(usage: unknown): TokenUsage | undefined {
  const inputTokens = count(member(usage, "prompt_tokens"));
  if (inputTokens === undefined) return undefined;
  const outputTokens = count(member(usage, "completion_tokens")) ?? 0;
  if (inputTokens === 0 && outputTokens === 0) return undefined;
  // More in total than both: somebody counts output beside (Gemini's thoughts). The reader of all vendors knows.
  const total = count(member(usage, "total_tokens"));
  if (total !== undefined && total > inputTokens + outputTokens) return undefined;
  const input = member(usage, "prompt_tokens_details");
  const output = member(usage, "completion_tokens_details");
  return {
    inputTokens,
    outputTokens,
    cacheReadTokens: count(member(input, "cached_tokens")) ?? cachedAtTop(usage),
    cacheWriteTokens:
      count(member(input, "cache_write_tokens")) ?? count(member(input, "cache_creation_input_tokens")) ?? 0,
    reasoningTokens: count(member(output, "reasoning_tokens")) ?? 0,
  };
}
