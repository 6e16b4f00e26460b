/** Reads a generateContent request and decides every number of its answer. */
import { type Body, isRecord, shareOut } from "../body-fields";
import { extrasOf } from "../chat-plan";
import type { SandboxControl } from "../control-fields";
import { RequestError } from "../errors";
import type { Exchange, Metered } from "../exchange";
import { findModel, type SandboxModel } from "../prices";
import { answerText, countPromptTokens, multibyteText, type TextOfTokens } from "../tokens";

export interface GeneratePlan extends Metered {
  readonly responseId: string;
  readonly answerModel: string;
  readonly thoughtsTokens: number;
  readonly showsThoughts: boolean;
  /** Visible tokens of each candidate. */
  readonly candidates: readonly number[];
  readonly functionCalls: readonly string[];
  readonly finishReason: string;
  /** Beside the prompt tokens in Gemini's count, part of them on the bill. */
  readonly toolPromptTokens: number;
  readonly isBlocked: boolean;
  readonly text: TextOfTokens;
}

const DEFAULT_TOKENS = 16;
const MAX_CANDIDATES = 8;

/** Throws `RequestError` for a request that Gemini would refuse. */
export function planGenerate({ body, control, params, callId }: Exchange, stream: boolean): GeneratePlan {
  const model = pathModel(params[0] ?? "");
  const config = isRecord(body.generationConfig) ? body.generationConfig : {};
  const count = numberOf(config.candidateCount, "candidateCount", MAX_CANDIDATES) ?? 1;
  const cap = numberOf(config.maxOutputTokens, "maxOutputTokens") ?? Infinity;
  const counted = control.promptTokens ?? countContents(body);
  const toolPromptTokens = control.toolPromptTokens ?? 0;
  const isBlocked = control.finishReason === "BLOCKED";
  const wanted = control.completionTokens ?? DEFAULT_TOKENS * count;
  const completionTokens = isBlocked ? 0 : Math.min(wanted, cap * count);
  const thoughtsTokens = Math.min(control.reasoningTokens ?? 0, completionTokens);
  return {
    model,
    stream,
    promptTokens: counted + toolPromptTokens,
    cachedTokens: Math.min(control.cachedTokens ?? 0, counted),
    completionTokens,
    extras: extrasOf(control, thoughtsTokens),
    responseId: callId,
    answerModel: control.answerModel ?? model.id,
    thoughtsTokens,
    showsThoughts: isRecord(config.thinkingConfig) && config.thinkingConfig.includeThoughts === true,
    candidates: isBlocked ? [] : shareOut(completionTokens - thoughtsTokens, count),
    functionCalls: functionsToCall(body, control),
    finishReason: control.finishReason ?? (wanted > completionTokens ? "MAX_TOKENS" : "STOP"),
    toolPromptTokens,
    isBlocked,
    text: control.multibyte === true ? multibyteText : answerText,
  };
}

/** Tokens of contents, system instruction and tools, by the sandbox's rule for messages. */
export function countContents(body: Body): number {
  const contents: unknown[] = Array.isArray(body.contents) ? body.contents : [];
  if (contents.length === 0)
    throw new RequestError(400, null, "* GenerateContentRequest.contents: contents is not specified");
  const turns = body.systemInstruction === undefined ? contents : [body.systemInstruction, ...contents];
  const messages = turns.map((turn) => ({ content: isRecord(turn) ? turn.parts : undefined }));
  return countPromptTokens(messages, body);
}

export function pathModel(id: string): SandboxModel {
  const model = findModel(id);
  if (model?.endpoint === "chat") return model;
  const message = `models/${id} is not found for API version v1beta, or is not supported for generateContent.`;
  throw new RequestError(404, null, message);
}

function functionsToCall(body: Body, control: SandboxControl): readonly string[] {
  const tools: unknown[] = Array.isArray(body.tools) ? body.tools : [];
  const names = tools.flatMap((tool) => {
    const declared: unknown = isRecord(tool) ? tool.functionDeclarations : undefined;
    return Array.isArray(declared) ? declared.map((each: unknown) => (isRecord(each) ? String(each.name) : "")) : [];
  });
  if (names.length === 0) return [];
  const config = isRecord(body.toolConfig) ? body.toolConfig.functionCallingConfig : undefined;
  const count = control.toolCalls ?? (isRecord(config) && config.mode === "ANY" ? 1 : 0);
  return Array.from({ length: count }, (_, index) => names[index % names.length] ?? "");
}

function numberOf(value: unknown, name: string, max = Infinity): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= max) return value;
  throw new RequestError(400, null, `Invalid value at 'generation_config.${name}'.`);
}
