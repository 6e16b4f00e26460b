/** The usage object of a chat answer, in the words of each vendor that speaks OpenAI's format. */
import type { ChatPlan } from "./chat-plan";
import type { SandboxControl } from "./control-fields";
import type { Vendor } from "./vendors";

/** Who says what a chat answer used, and where. */
interface UsageHabit {
  /** Names of fields; a vendor without `details` gives the three sums only. */
  readonly cache: "details" | "top" | "hit_and_miss" | "none";
  /** Whether reasoning is told, and on which side of `completion_tokens`. */
  readonly reasoning: "inside" | "outside" | "untold_outside" | "untold";
  /** Where a stream has it: a chunk of its own if asked, the finishing chunk, or a choice of the finishing chunk. */
  readonly place: "own_chunk" | "finish_chunk" | "finish_choice";
  /** The thoughts of the model are part of the answer. */
  readonly showsReasoning: boolean;
}

const OPENAI: UsageHabit = { cache: "details", reasoning: "inside", place: "own_chunk", showsReasoning: false };
const HABITS: Partial<Record<Vendor, UsageHabit>> = {
  deepseek: { ...OPENAI, cache: "hit_and_miss", showsReasoning: true },
  dashscope: { ...OPENAI, showsReasoning: true },
  zhipu: { ...OPENAI, place: "finish_chunk", showsReasoning: true },
  moonshot: { ...OPENAI, cache: "top", reasoning: "untold", place: "finish_choice", showsReasoning: true },
  qianfan: { ...OPENAI, cache: "none", reasoning: "untold", showsReasoning: true },
  ark: { ...OPENAI, showsReasoning: true },
  xai: { ...OPENAI, reasoning: "outside", showsReasoning: true },
  vllm: { ...OPENAI, cache: "none", reasoning: "untold", showsReasoning: true },
  ollama: { ...OPENAI, cache: "none", reasoning: "untold" },
  gemini_compat: { ...OPENAI, cache: "none", reasoning: "untold_outside" },
};

export function usageHabit(vendor: Vendor): UsageHabit {
  return HABITS[vendor] ?? OPENAI;
}

/**
 * The usage object as JSON, or that of the fault that hides or zeroes it; undefined where it is missing.
 * `produced` are the completion tokens so far, for a vendor that reports while it streams.
 */
export function chatUsage(
  plan: ChatPlan,
  control: SandboxControl,
  vendor: Vendor,
  produced = plan.completionTokens,
): string | undefined {
  if (control.usage !== undefined) return JSON.stringify(control.usage);
  if (control.fault === "no_usage") return undefined;
  if (control.fault === "zero_usage") return countsJson(NOTHING, 0, 0, OPENAI, control);
  const habit = usageHabit(vendor);
  return countsJson(plan, produced, Math.min(plan.reasoningTokens, produced), habit, control);
}

const NOTHING = { promptTokens: 0, cachedTokens: 0 };

function countsJson(
  { promptTokens, cachedTokens }: { readonly promptTokens: number; readonly cachedTokens: number },
  produced: number,
  reasoning: number,
  habit: UsageHabit,
  control: SandboxControl,
): string {
  const isOutside = habit.reasoning === "outside" || habit.reasoning === "untold_outside";
  const completion = isOutside ? produced - reasoning : produced;
  const sums = `{"prompt_tokens":${promptTokens},"completion_tokens":${completion},"total_tokens":${promptTokens + produced}`;
  return `${sums}${cacheFields(promptTokens, cachedTokens, habit, control)}${reasoningFields(reasoning, habit, control)}}`;
}

function cacheFields(prompt: number, cached: number, habit: UsageHabit, control: SandboxControl): string {
  switch (habit.cache) {
    case "none":
      return "";
    case "top":
      return `,"cached_tokens":${cached}`;
    case "hit_and_miss":
      return `,"prompt_cache_hit_tokens":${cached},"prompt_cache_miss_tokens":${prompt - cached}`;
    case "details": {
      const { cacheWriteTokens: written, imageInputTokens: image } = control;
      const more =
        (written === undefined ? "" : `,"cache_write_tokens":${written},"cache_creation_input_tokens":${written}`) +
        (image === undefined ? "" : `,"image_tokens":${image}`);
      const audio = control.audioInputTokens ?? 0;
      return `,"prompt_tokens_details":{"cached_tokens":${cached},"audio_tokens":${audio}${more}}`;
    }
  }
}

function reasoningFields(reasoning: number, habit: UsageHabit, control: SandboxControl): string {
  if (habit.reasoning === "untold" || habit.reasoning === "untold_outside") return "";
  return (
    `,"completion_tokens_details":{"reasoning_tokens":${reasoning},"audio_tokens":${control.audioOutputTokens ?? 0},` +
    `"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}`
  );
}
