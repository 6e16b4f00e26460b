/** Why an answer ended, and what it used, both ways. */
import type { Json } from "./untranslatable";
import { isObject } from "./untranslatable";

const FINISH_OF_STOP: Readonly<Record<string, string>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  tool_use: "tool_calls",
  refusal: "content_filter",
};

const STOP_OF_FINISH: Readonly<Record<string, string>> = {
  stop: "end_turn",
  length: "max_tokens",
  tool_calls: "tool_use",
  content_filter: "refusal",
  // Zhipu's words.
  sensitive: "refusal",
  model_context_window_exceeded: "max_tokens",
};

/** Reasons that are not in the table end an answer like any other: the answer is paid for and is passed on. */
export function finishReason(stopReason: unknown): string {
  return FINISH_OF_STOP[String(stopReason)] ?? "stop";
}

/** Servers say `stop` of an answer that calls a tool it was told to call. */
export function stopReason(finish: unknown, hasToolCalls: boolean): string {
  const reason = STOP_OF_FINISH[String(finish)] ?? "end_turn";
  return reason === "end_turn" && hasToolCalls ? "tool_use" : reason;
}

function count(value: unknown): number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : 0;
}

function detail(usage: Json, name: string): Json {
  const details = usage[name];
  return isObject(details) ? details : {};
}

/** OpenAI's prompt tokens hold those of the cache; Anthropic's input tokens do not. */
export function openAiUsage(usage: unknown): Json {
  const from = isObject(usage) ? usage : {};
  const cached = count(from.cache_read_input_tokens);
  const written = count(from.cache_creation_input_tokens);
  const prompt = count(from.input_tokens) + cached + written;
  const completion = count(from.output_tokens);
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
    completion_tokens_details: {
      reasoning_tokens: count(detail(from, "output_tokens_details").thinking_tokens),
    },
  };
}

/** Details that exceed their parent are cut to it, reads first. */
export function anthropicUsage(usage: unknown): Json {
  const from = isObject(usage) ? usage : {};
  const details = detail(from, "prompt_tokens_details");
  const prompt = count(from.prompt_tokens);
  const cached = Math.min(prompt, count(details.cached_tokens) || count(from.prompt_cache_hit_tokens));
  const written = Math.min(prompt - cached, count(details.cache_write_tokens));
  return {
    input_tokens: prompt - cached - written,
    cache_creation_input_tokens: written,
    cache_read_input_tokens: cached,
    output_tokens: count(from.completion_tokens),
    output_tokens_details: {
      thinking_tokens: count(detail(from, "completion_tokens_details").reasoning_tokens),
    },
  };
}
