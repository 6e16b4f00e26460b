/** Reads a Responses request and decides every number of its answer. */
import { type Body, integerField, isJsonFormat, isRecord, modelField, shareOut, textField } from "../body-fields";
import { extrasOf } from "../chat-plan";
import type { SandboxControl } from "../control-fields";
import { missingField, RequestError } from "../errors";
import type { Call, Metered } from "../exchange";
import type { Shelves } from "../shelves";
import { answerText, countPromptTokens, jsonText, multibyteText, type TextOfTokens } from "../tokens";

export interface ResponsePlan extends Metered {
  readonly id: string;
  readonly callId: string;
  readonly createdSeconds: number;
  readonly answerModel: string;
  readonly reasoningTokens: number;
  /** Visible tokens of the message, or of each function call. */
  readonly items: readonly OutputItem[];
  readonly maxOutputTokens: number | undefined;
  readonly incompleteReason: string | undefined;
  readonly isBackground: boolean;
  readonly isStored: boolean;
  readonly serviceTier: string;
  readonly body: Body;
  readonly text: TextOfTokens;
}

export interface OutputItem {
  readonly id: string;
  readonly tokens: number;
  /** Of the function that is called; undefined for a message. */
  readonly functionName: string | undefined;
}

const DEFAULT_TOKENS = 16;
const MIN_OUTPUT_TOKENS = 16;

/** Throws `RequestError` for a request that OpenAI would refuse. */
export function planResponse(call: Call, shelves: Shelves): ResponsePlan {
  const { body, control, callId, receivedAtMs } = call;
  const model = modelField(body, "chat");
  if (body.input === undefined && body.previous_response_id === undefined) throw missingField("input");
  const maxOutputTokens = integerField(body, "max_output_tokens", Infinity, MIN_OUTPUT_TOKENS);
  const wanted = control.completionTokens ?? DEFAULT_TOKENS;
  const completionTokens = Math.min(wanted, maxOutputTokens ?? Infinity);
  const reasoningTokens = Math.min(control.reasoningTokens ?? 0, completionTokens);
  const promptTokens = control.promptTokens ?? countInput(body) + earlierTokens(body, shelves);
  return {
    model,
    stream: body.stream === true,
    promptTokens,
    cachedTokens: Math.min(control.cachedTokens ?? 0, promptTokens),
    completionTokens,
    extras: extrasOf(control, reasoningTokens),
    id: `resp_${callId}`,
    callId,
    createdSeconds: Math.floor(receivedAtMs / 1000),
    answerModel: control.answerModel ?? model.id,
    reasoningTokens,
    items: itemsOf(completionTokens - reasoningTokens, functionsToCall(body, control), callId),
    maxOutputTokens,
    incompleteReason: control.finishReason ?? (wanted > completionTokens ? "max_output_tokens" : undefined),
    isBackground: body.background === true,
    isStored: body.store !== false,
    serviceTier: control.serviceTier ?? "default",
    body,
    text: textOf(body, control, completionTokens - reasoningTokens),
  };
}

function textOf({ text: asked }: Body, { multibyte }: SandboxControl, visible: number): TextOfTokens {
  const text = multibyte === true ? multibyteText : answerText;
  return isRecord(asked) && isJsonFormat(asked.format) ? jsonText(text, visible) : text;
}

/** Input tokens of instructions, input and tools, by the sandbox's rule for messages. */
export function countInput(body: Body): number {
  const instructions = textField(body, "instructions");
  const system = instructions === undefined ? [] : [{ content: instructions }];
  const input: unknown[] = Array.isArray(body.input) ? body.input : [{ content: body.input }];
  const messages = input.map((item) => (isRecord(item) && item.content === undefined ? { content: [item] } : item));
  return countPromptTokens([...system, ...messages], body);
}

/** All earlier context of a conversation is read, and billed, again. */
function earlierTokens(body: Body, shelves: Shelves): number {
  const id = textField(body, "previous_response_id");
  if (id === undefined) return 0;
  const earlier = shelves.responses.get(id);
  if (earlier !== undefined) return earlier.contextTokens;
  const message = `Previous response with id '${id}' not found.`;
  throw new RequestError(400, "previous_response_not_found", message, "previous_response_id");
}

function functionsToCall(body: Body, control: SandboxControl): readonly string[] {
  const tools: unknown[] = Array.isArray(body.tools) ? body.tools : [];
  const names = tools.flatMap((tool) => {
    return isRecord(tool) && tool.type === "function" && typeof tool.name === "string" ? [tool.name] : [];
  });
  if (names.length === 0) return [];
  const choice = body.tool_choice;
  const chosen = isRecord(choice) && typeof choice.name === "string" ? choice.name : undefined;
  const count = control.toolCalls ?? (choice === "required" || chosen !== undefined ? 1 : 0);
  return Array.from({ length: count }, (_, index) => chosen ?? names[index % names.length] ?? "");
}

function itemsOf(visible: number, functions: readonly string[], callId: string): OutputItem[] {
  if (functions.length === 0) return [{ id: `msg_${callId}`, tokens: visible, functionName: undefined }];
  const shares = shareOut(visible, functions.length);
  return functions.map((functionName, index) => {
    return { id: `fc_${callId}_${index}`, tokens: shares[index] ?? 0, functionName };
  });
}
