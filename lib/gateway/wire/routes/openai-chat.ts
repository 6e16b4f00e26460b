/** Chat completions, completions and responses (OpenAI API reference: create chat completion, create completion, create response). */
import type { Denial } from "@/lib/domain/denial";
import type { Body } from "./fields";
import {
  endUserOf,
  flag,
  given,
  guessTokens,
  Invalid,
  isBody,
  MAX_OUTPUT_TOKENS,
  modelOf,
  objectOf,
  objectsOf,
  parseJsonBody,
  partTypes,
  textBytes,
  textOf,
  TOKENS_PER_MEDIA_PART,
  wholeNumber,
  wordOf,
} from "./fields";
import type { JsonRequest, RequestShape, ToolFee } from "./route-request";
import { NO_EXTRAS } from "./route-request";

const MAX_CHOICES = 128;
const MAX_BEST_OF = 20;
const MAX_CALLS = 1_000_000;
const FRAMING_TOKENS_PER_MESSAGE = 3;
const FRAMING_TOKENS = 3;
const COMPLETION_DEFAULT_CAP = 16;

/** Items and parts whose bytes bound their tokens; a picture's address says nothing of its size. */
const PLAIN_PARTS = new Set([
  "text",
  "refusal",
  "input_text",
  "output_text",
  "message",
  "reasoning",
  "reasoning_text",
  "summary_text",
  "item_reference",
]);
/** A document's pages are read as text and as pictures: nothing in the body says how many. */
const DOCUMENT_PARTS = new Set(["file", "input_file", "document"]);

function mediaTokens(types: readonly string[]): number {
  return types.filter((type) => !PLAIN_PARTS.has(type)).length * TOKENS_PER_MEDIA_PART;
}

function hasDocument(types: readonly string[]): boolean {
  return types.some((type) => DOCUMENT_PARTS.has(type));
}

function includesUsage(body: Body): boolean {
  const options = objectOf(body, "stream_options");
  return options !== undefined && flag(options, "include_usage", "stream_options.include_usage");
}

function searchFee(body: Body): readonly ToolFee[] {
  const options = objectOf(body, "web_search_options");
  if (!options) return [];
  const size = wordOf(options, "search_context_size", "web_search_options.search_context_size") ?? "medium";
  return [{ tool: "web_search", maxCalls: null, size }];
}

/** Tools that the caller runs; every other tool runs at the provider, for a fee, and brings input of its own. */
const CALLERS_TOOLS = new Set(["function", "custom", "local_shell", "apply_patch", "namespace"]);

function builtInTools(body: Body, isTypeRequired: boolean): readonly ToolFee[] {
  const maxCalls = wholeNumber(body, "max_tool_calls", 0, MAX_CALLS);
  return objectsOf(body, "tools").flatMap((tool, index) => {
    const type = wordOf(tool, "type", `tools[${index}].type`);
    if (type === null && isTypeRequired)
      throw new Invalid(`tools[${index}].type`, `tools[${index}].type must be a text`);
    if (type === null || CALLERS_TOOLS.has(type)) return [];
    const size = wordOf(tool, "search_context_size", `tools[${index}].search_context_size`);
    return [{ tool: type, maxCalls, size: size ?? (type.startsWith("web_search") ? "medium" : null) }];
  });
}

/**
 * What vendors sell beside a chat: searches of Alibaba (`enable_search`), Zhipu and Moonshot (tools of types of their own), xAI
 * (`search_parameters`) and plugins of OpenRouter.
 */
function chatFees(body: Body): readonly ToolFee[] {
  const live = objectOf(body, "search_parameters");
  const plugins = objectsOf(body, "plugins").map((plugin) => wordOf(plugin, "id", "plugins.id") ?? "plugin");
  const names = [...(live && live.mode !== "off" ? ["live_search"] : []), ...plugins];
  const search: ToolFee = { tool: "web_search", maxCalls: null, size: "medium" };
  return [
    ...searchFee(body),
    ...(flag(body, "enable_search") ? [search] : []),
    ...builtInTools(body, false),
    ...names.map((tool) => ({ tool, maxCalls: null, size: null })),
  ];
}

/** Whether a chat body may have what `chatFees` reads: most do not, and need not be looked through. */
export function maySellMore({ tools, plugins, enable_search: search, search_parameters: live }: Body): boolean {
  if (plugins !== undefined || search !== undefined || live !== undefined) return true;
  if (tools === undefined || tools === null) return false;
  return !Array.isArray(tools) || !tools.every((tool) => isBody(tool) && tool.type === "function");
}

function asksForAudio(body: Body): boolean {
  const modalities = given(body, "modalities");
  if (modalities === undefined) return false;
  if (!Array.isArray(modalities) || !modalities.every((item) => typeof item === "string"))
    throw new Invalid("modalities", "modalities must be a list of texts");
  return modalities.includes("audio");
}

export function chatShape(body: Body, bodyBytes: number): RequestShape {
  const messages = objectsOf(body, "messages");
  if (messages.length === 0) throw new Invalid("messages", "messages must be a list with at least one message");
  const newer = wholeNumber(body, "max_completion_tokens", 1, MAX_OUTPUT_TOKENS);
  const older = wholeNumber(body, "max_tokens", 1, MAX_OUTPUT_TOKENS);
  const framing = messages.length * FRAMING_TOKENS_PER_MESSAGE + FRAMING_TOKENS;
  const types = messages.flatMap((message) => partTypes(message.content));
  const toolFees = chatFees(body);
  const choices = wholeNumber(body, "n", 1, MAX_CHOICES) ?? 1;
  const prediction = given(body, "prediction");
  return {
    model: modelOf(body),
    kind: "chat",
    isStream: flag(body, "stream"),
    wantsUsage: includesUsage(body),
    // Where both are said a server may obey either: hold for the larger.
    outputCap: newer === null && older === null ? null : Math.max(newer ?? 0, older ?? 0),
    // Servers that know it make so many and show the best (vLLM).
    choices: Math.max(choices, wholeNumber(body, "best_of", 1, MAX_BEST_OF) ?? 1),
    inputBound: bodyBytes + framing + mediaTokens(types),
    inputGuess: () => guessTokens(messages) + framing,
    extraOutput: prediction === undefined ? 0 : textBytes(prediction),
    endUser: endUserOf(body),
    extras: {
      ...NO_EXTRAS,
      // What was said before is named by its id and read again (OpenAI: audio of assistant messages).
      isContextUnbounded: hasDocument(types) || toolFees.length > 0 || messages.some(({ audio }) => isBody(audio)),
      serviceTier: wordOf(body, "service_tier"),
      toolFees,
      hasAudioOutput: asksForAudio(body),
    },
  };
}

/** Prompts of a completion: one text or token list, or a list of them; each is billed. */
function promptsOf(body: Body): { count: number; guess: () => number } {
  const { prompt } = body;
  const isIds = (value: unknown) =>
    Array.isArray(value) && value.every((id) => Number.isInteger(id) && Number(id) >= 0);
  if (prompt === undefined || prompt === null) return { count: 1, guess: () => 1 };
  if (typeof prompt === "string") return { count: 1, guess: () => guessTokens(prompt) };
  if (Array.isArray(prompt) && prompt.length > 0) {
    if (isIds(prompt)) return { count: 1, guess: () => prompt.length };
    if (prompt.every((item) => typeof item === "string"))
      return { count: prompt.length, guess: () => guessTokens(prompt) };
    if (prompt.every(isIds)) return { count: prompt.length, guess: () => prompt.flat().length };
  }
  throw new Invalid("prompt", "prompt must be a text, a list of texts or lists of token ids");
}

function completionShape(body: Body, bodyBytes: number): RequestShape {
  const prompts = promptsOf(body);
  const asked = wholeNumber(body, "n", 1, MAX_CHOICES) ?? 1;
  const made = wholeNumber(body, "best_of", 1, MAX_BEST_OF) ?? asked;
  if (made < asked) throw new Invalid("best_of", "best_of must not be less than n");
  // An echoed prompt is text of the answer; servers differ in whether it counts as output.
  const echo = flag(body, "echo") ? bodyBytes : 0;
  return {
    model: modelOf(body),
    kind: "completion",
    isStream: flag(body, "stream"),
    wantsUsage: includesUsage(body),
    outputCap: wholeNumber(body, "max_tokens", 0, MAX_OUTPUT_TOKENS) ?? COMPLETION_DEFAULT_CAP,
    // Every candidate of every prompt is billed, also those that are thrown away.
    choices: made * prompts.count,
    inputBound: bodyBytes + prompts.count * FRAMING_TOKENS,
    inputGuess: prompts.guess,
    extraOutput: echo * made,
    endUser: endUserOf(body),
    extras: { ...NO_EXTRAS, serviceTier: wordOf(body, "service_tier") },
  };
}

function inputItems(body: Body): unknown {
  const input = given(body, "input");
  const isList = Array.isArray(input) && input.every(isBody);
  if (input !== undefined && typeof input !== "string" && !isList)
    throw new Invalid("input", "input must be a text or a list of items");
  return input;
}

function responsesShape(body: Body, bodyBytes: number): RequestShape {
  const input = inputItems(body);
  const instructions = textOf(body, "instructions");
  const toolFees = builtInTools(body, true);
  const items = Array.isArray(input) ? input.length : 1;
  const framing = items * FRAMING_TOKENS_PER_MESSAGE + FRAMING_TOKENS;
  const types = partTypes(input).filter((type) => !type.endsWith("_call") && !type.endsWith("_call_output"));
  const stored = ["previous_response_id", "conversation", "prompt"].some((name) => given(body, name) !== undefined);
  const isReference = types.includes("item_reference");
  return {
    model: modelOf(body),
    kind: "responses",
    isStream: flag(body, "stream"),
    // The last event holds the usage whether it was asked for or not.
    wantsUsage: true,
    outputCap: wholeNumber(body, "max_output_tokens", 1, MAX_OUTPUT_TOKENS),
    choices: 1,
    inputBound: bodyBytes + framing + mediaTokens(types),
    inputGuess: () => guessTokens([input, instructions]) + framing,
    extraOutput: 0,
    endUser: endUserOf(body),
    extras: {
      ...NO_EXTRAS,
      isContextUnbounded: stored || isReference || hasDocument(types) || toolFees.length > 0,
      isBackground: flag(body, "background"),
      serviceTier: wordOf(body, "service_tier"),
      toolFees,
    },
  };
}

export function parseChat(bytes: Uint8Array): JsonRequest | Denial {
  return parseJsonBody(bytes, chatShape);
}

export function parseCompletion(bytes: Uint8Array): JsonRequest | Denial {
  return parseJsonBody(bytes, completionShape);
}

export function parseResponses(bytes: Uint8Array): JsonRequest | Denial {
  return parseJsonBody(bytes, responsesShape);
}
