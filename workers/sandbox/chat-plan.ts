/** Reads a chat request and decides every number of its answer. */
import type { SandboxControl } from "./control";
import { RequestError, unknownModel } from "./errors";
import type { Exchange, Metered } from "./exchange";
import { findModel, type SandboxModel } from "./prices";
import { countPromptTokens } from "./tokens";

/** A chat call with every number of its answer decided. */
export interface ChatPlan extends Metered {
  readonly id: string;
  readonly createdSeconds: number;
  readonly reasoningTokens: number;
  /** Visible tokens of each choice. */
  readonly choices: readonly number[];
  readonly finishReason: "stop" | "length";
  readonly includeUsage: boolean;
}

const DEFAULT_COMPLETION_TOKENS = 16;
const MAX_CHOICES = 128;

/** Throws `RequestError` for a request that OpenAI would refuse. */
export function planChat({ body, control, callId, receivedAtMs }: Exchange): ChatPlan {
  const model = chatModel(body.model);
  const messages = body.messages;
  if (!Array.isArray(messages) || messages.length === 0) {
    throw new RequestError(400, "invalid_value", "'messages' must be an array with at least one message.", "messages");
  }
  const n = integerField(body, "n", MAX_CHOICES) ?? 1;
  const cap = integerField(body, "max_completion_tokens") ?? integerField(body, "max_tokens") ?? Infinity;
  const wanted = control.completionTokens ?? DEFAULT_COMPLETION_TOKENS * n;
  const completionTokens = Math.min(wanted, cap * n);
  const reasoningTokens = Math.min(control.reasoningTokens ?? 0, completionTokens);
  const promptTokens = control.promptTokens ?? countPromptTokens(messages, body);
  const stream = body.stream === true;
  return {
    model,
    stream,
    promptTokens,
    cachedTokens: Math.min(control.cachedTokens ?? 0, promptTokens),
    completionTokens,
    reasoningTokens,
    id: `chatcmpl-${callId}`,
    createdSeconds: Math.floor(receivedAtMs / 1000),
    choices: shareOut(completionTokens - reasoningTokens, n),
    finishReason: wanted > completionTokens ? "length" : "stop",
    includeUsage: stream && asksForUsage(body.stream_options),
  };
}

/** `"usage":…` of a plan, or of the fault that hides or zeroes it. `undefined` where the field is missing. */
export function usageJson(plan: ChatPlan, control: SandboxControl): string | undefined {
  if (control.fault === "no_usage") return undefined;
  const zero = control.fault === "zero_usage";
  const prompt = zero ? 0 : plan.promptTokens;
  const completion = zero ? 0 : plan.completionTokens;
  return (
    `"usage":{"prompt_tokens":${prompt},"completion_tokens":${completion},"total_tokens":${prompt + completion},` +
    `"prompt_tokens_details":{"cached_tokens":${zero ? 0 : plan.cachedTokens},"audio_tokens":0},` +
    `"completion_tokens_details":{"reasoning_tokens":${zero ? 0 : plan.reasoningTokens},"audio_tokens":0,` +
    `"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}`
  );
}

function chatModel(id: unknown): SandboxModel {
  if (typeof id !== "string")
    throw new RequestError(400, "missing_required_parameter", "you must provide a model parameter");
  const model = findModel(id);
  if (model === undefined) throw unknownModel(id);
  if (model.endpoint === "chat") return model;
  throw new RequestError(404, null, "This is not a chat model and thus not supported in this endpoint.", "model");
}

/** A positive integer of the body, or undefined when it is absent or null. */
function integerField(body: Readonly<Record<string, unknown>>, name: string, max = Infinity): number | undefined {
  const value = body[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= max) return value;
  throw new RequestError(400, "invalid_value", `Invalid '${name}': expected a positive integer.`, name);
}

function asksForUsage(options: unknown): boolean {
  return (
    typeof options === "object" && options !== null && "include_usage" in options && options.include_usage === true
  );
}

/** `total` in `parts` as equal as can be, the first ones one larger. */
function shareOut(total: number, parts: number): number[] {
  if (parts === 1) return [total];
  const least = Math.floor(total / parts);
  return Array.from({ length: parts }, (_, index) => least + (index < total % parts ? 1 : 0));
}
