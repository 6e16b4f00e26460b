/** Reads a chat request and decides every number of its answer. */
import { type Body, integerField, isJsonFormat, isRecord, modelField, shareOut } from "./body-fields";
import type { SandboxControl } from "./control-fields";
import { RequestError } from "./errors";
import type { Call, Metered } from "./exchange";
import type { Extras } from "./prices";
import { answerText, countPromptTokens, escaped, jsonText, multibyteText, type TextOfTokens } from "./tokens";

/** A chat call with every number of its answer decided. */
export interface ChatPlan extends Metered {
  readonly id: string;
  readonly callId: string;
  readonly createdSeconds: number;
  readonly reasoningTokens: number;
  /** Visible tokens of each choice. */
  readonly choices: readonly number[];
  /** Names of the tools that each choice calls; none: it is text. */
  readonly toolCalls: readonly string[];
  readonly finishReason: string;
  readonly includeUsage: boolean;
  /** vLLM's running usage on every chunk. */
  readonly continuousUsage: boolean;
  /** The model that the answer names. */
  readonly answerModel: string;
  readonly serviceTier: string;
  readonly text: TextOfTokens;
}

const DEFAULT_COMPLETION_TOKENS = 16;
const MAX_CHOICES = 128;

/** Throws `RequestError` for a request that OpenAI would refuse. */
export function planChat({ body, control, callId, receivedAtMs }: Call): ChatPlan {
  const model = modelField(body, "chat");
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
  const toolCalls = toolsToCall(body, control);
  const choices = shareOut(completionTokens - reasoningTokens, n);
  const text = control.multibyte === true ? multibyteText : answerText;
  const isJson = toolCalls.length === 0 && isJsonFormat(body.response_format);
  const finish = wanted > completionTokens ? "length" : toolCalls.length > 0 ? "tool_calls" : "stop";
  return {
    model,
    stream,
    promptTokens,
    cachedTokens: Math.min(control.cachedTokens ?? 0, promptTokens),
    completionTokens,
    reasoningTokens,
    id: `chatcmpl-${callId}`,
    callId,
    createdSeconds: Math.floor(receivedAtMs / 1000),
    choices,
    toolCalls,
    finishReason: control.finishReason ?? finish,
    includeUsage: stream && hasOption(body.stream_options, "include_usage"),
    continuousUsage: stream && hasOption(body.stream_options, "continuous_usage_stats"),
    answerModel: control.answerModel ?? model.id,
    serviceTier: control.serviceTier ?? "default",
    text: isJson ? escaped(jsonText(text, choices[0] ?? 0)) : text,
    extras: extrasOf(control, reasoningTokens),
  };
}

/** The extras of a call; undefined where there are none, as in nearly all calls. */
export function extrasOf(control: SandboxControl, reasoningTokens: number): Extras | undefined {
  const { serviceTier, cacheWriteTokens, cacheWrite1hTokens, searches } = control;
  const { audioInputTokens, audioOutputTokens, imageInputTokens } = control;
  const isPlain =
    reasoningTokens === 0 &&
    serviceTier === undefined &&
    cacheWriteTokens === undefined &&
    cacheWrite1hTokens === undefined &&
    searches === undefined &&
    audioInputTokens === undefined &&
    audioOutputTokens === undefined &&
    imageInputTokens === undefined;
  if (isPlain) return undefined;
  return defined({
    ...{ serviceTier, cacheWriteTokens, cacheWrite1hTokens, searches },
    ...{ reasoningTokens, audioInputTokens, audioOutputTokens, imageInputTokens },
  });
}

/** The fields that have a value. */
export function defined(fields: { readonly [Name in keyof Extras]?: Extras[Name] | undefined }): Extras {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== 0));
}

/** Tools are called where the control says so, or where the request leaves no choice. */
function toolsToCall(body: Body, control: SandboxControl): readonly string[] {
  if (control.toolCalls === undefined && (body.tool_choice === undefined || body.tool_choice === "auto")) return [];
  const names = Array.isArray(body.tools) ? body.tools.map(functionName) : [];
  const chosen = functionName(body.tool_choice);
  const isForced = body.tool_choice === "required" || chosen !== undefined;
  const count = names.length === 0 ? 0 : (control.toolCalls ?? (isForced ? 1 : 0));
  return Array.from({ length: count }, (_, index) => chosen ?? names[index % names.length] ?? "tool");
}

function functionName(tool: unknown): string | undefined {
  if (!isRecord(tool)) return undefined;
  const named = isRecord(tool.function) ? tool.function.name : tool.name;
  return typeof named === "string" ? named : undefined;
}

export function toolCallId(plan: ChatPlan, choice: number, index: number): string {
  return `call_${plan.callId}_${choice}_${index}`;
}

function hasOption(options: unknown, name: string): boolean {
  return isRecord(options) && options[name] === true;
}
