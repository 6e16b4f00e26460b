/** Reads a Messages request and decides every number of its answer. */
import { type Body, isJsonFormat, isRecord, shareOut } from "../body-fields";
import { defined, extrasOf } from "../chat-plan";
import type { SandboxControl } from "../control-fields";
import { RequestError } from "../errors";
import type { Call, Metered } from "../exchange";
import { findModel, type SandboxModel } from "../prices";
import { answerText, countPromptTokens, jsonText, multibyteText, type TextOfTokens } from "../tokens";

/** A part of the answer, in order: thoughts, then text or tool calls. */
export type Block =
  | { readonly kind: "thinking" | "text"; readonly tokens: number }
  | { readonly kind: "tool_use"; readonly tokens: number; readonly id: string; readonly name: string };

export interface MessagesPlan extends Metered {
  readonly id: string;
  readonly answerModel: string;
  readonly blocks: readonly Block[];
  /** Billed thoughts; those without a block are not shown. */
  readonly thinkingTokens: number;
  readonly hiddenTokens: number;
  readonly stopReason: string;
  readonly serviceTier: string;
  readonly inferenceGeo: string | undefined;
  readonly text: TextOfTokens;
}

const DEFAULT_TOKENS = 16;
const DEFAULT_THINKING_TOKENS = 8;
/** Of the system prompt that comes with tools. */
const TOOL_PROMPT_TOKENS = 8;

/** Throws `RequestError` for a request that Anthropic would refuse. */
export function planMessages(call: Call): MessagesPlan {
  const { body, control, callId } = call;
  const model = messagesModel(body);
  const maxTokens = body.max_tokens;
  if (maxTokens === undefined) throw required("max_tokens");
  if (!Number.isInteger(maxTokens) || Number(maxTokens) < 1) throw invalid("max_tokens: must be a positive integer");
  const budget = thinkingBudget(body, Number(maxTokens));
  const promptTokens = control.promptTokens ?? countMessages(body);
  const wanted = control.completionTokens ?? DEFAULT_TOKENS + (budget > 0 ? DEFAULT_THINKING_TOKENS : 0);
  const completionTokens = Math.min(wanted, Number(maxTokens));
  const thinkingTokens = Math.min(
    control.reasoningTokens ?? Math.min(budget, DEFAULT_THINKING_TOKENS),
    completionTokens,
  );
  const tools = toolsToUse(body, control);
  const blocks = blocksOf(completionTokens - thinkingTokens, budget > 0 ? thinkingTokens : 0, tools, callId);
  const finish = wanted > completionTokens ? "max_tokens" : tools.length > 0 ? "tool_use" : "end_turn";
  const inferenceGeo = typeof body.inference_geo === "string" ? body.inference_geo : undefined;
  const extras = defined({
    ...extrasOf(control, thinkingTokens),
    inferenceGeo: inferenceGeo === "us" ? "us" : undefined,
  });
  return {
    model,
    stream: body.stream === true,
    promptTokens,
    cachedTokens: Math.min(control.cachedTokens ?? 0, promptTokens),
    completionTokens,
    extras: Object.keys(extras).length === 0 ? undefined : extras,
    id: `msg_${callId}`,
    answerModel: control.answerModel ?? model.id,
    blocks,
    thinkingTokens,
    hiddenTokens: budget > 0 ? 0 : thinkingTokens,
    stopReason: control.finishReason ?? finish,
    serviceTier: control.serviceTier ?? "standard",
    inferenceGeo,
    text: textOf(body, control, blocks),
  };
}

function textOf({ output_config: asked }: Body, { multibyte }: SandboxControl, blocks: readonly Block[]): TextOfTokens {
  const text = multibyte === true ? multibyteText : answerText;
  const answer = blocks.find(({ kind }) => kind === "text");
  return answer && isRecord(asked) && isJsonFormat(asked.format) ? jsonText(text, answer.tokens) : text;
}

/** Input tokens of a body: those of its messages, its system prompt and its tools. */
export function countMessages(body: Body): number {
  const messages: unknown[] = Array.isArray(body.messages) ? body.messages : [];
  if (messages.length === 0) throw required("messages");
  const system = body.system === undefined ? [] : [{ role: "system", content: body.system }];
  const hasTools = Array.isArray(body.tools) && body.tools.length > 0;
  return countPromptTokens([...system, ...messages], body) + (hasTools ? TOOL_PROMPT_TOKENS : 0);
}

export function messagesModel(body: Body): SandboxModel {
  if (typeof body.model !== "string") throw required("model");
  const model = findModel(body.model);
  if (model?.endpoint !== "chat") throw new RequestError(404, null, `model: ${body.model}`);
  return model;
}

export function required(name: string): RequestError {
  return invalid(`${name}: Field required`);
}

function invalid(message: string): RequestError {
  return new RequestError(400, null, message);
}

/** Tokens that the request allows for thoughts; 0 where it wants none. */
function thinkingBudget(body: Body, maxTokens: number): number {
  const { thinking } = body;
  if (!isRecord(thinking) || thinking.type === "disabled") return 0;
  if (thinking.type === "adaptive") return maxTokens;
  const budget = thinking.budget_tokens;
  if (typeof budget !== "number" || budget < 1) throw required("thinking.enabled.budget_tokens");
  if (budget >= maxTokens) throw invalid("`max_tokens` must be greater than `thinking.budget_tokens`.");
  return budget;
}

function toolsToUse(body: Body, control: SandboxControl): readonly string[] {
  const choice = isRecord(body.tool_choice) ? body.tool_choice : {};
  const names = Array.isArray(body.tools) ? body.tools.flatMap(clientToolName) : [];
  if (names.length === 0) return [];
  const chosen = choice.type === "tool" && typeof choice.name === "string" ? choice.name : undefined;
  const count = control.toolCalls ?? (choice.type === "any" || chosen !== undefined ? 1 : 0);
  return Array.from({ length: count }, (_, index) => chosen ?? names[index % names.length] ?? "tool");
}

/** Server tools have a dated type and are not called by the model's answer. */
function clientToolName(tool: unknown): string[] {
  if (!isRecord(tool) || typeof tool.name !== "string") return [];
  return tool.type === undefined || tool.type === "custom" ? [tool.name] : [];
}

function blocksOf(visible: number, shownThinking: number, tools: readonly string[], callId: string): Block[] {
  const thinking: Block[] = shownThinking > 0 ? [{ kind: "thinking", tokens: shownThinking }] : [];
  if (tools.length === 0) return [...thinking, { kind: "text", tokens: visible }];
  const shares = shareOut(visible, tools.length);
  const calls = tools.map((name, index): Block => {
    return { kind: "tool_use", tokens: shares[index] ?? 0, id: `toolu_${callId}_${index}`, name };
  });
  return [...thinking, ...calls];
}
