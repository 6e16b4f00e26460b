/**
 * An OpenAI chat request as an Anthropic messages request (API references: create chat completion; create a message). Both
 * must mean the same; what has no exact counterpart is refused by the name of its field.
 */
import type { Denial } from "@/lib/domain/denial";
import { blockOfPart, textBlock } from "./parts";
import { anthropicToolChoice, anthropicTools } from "./tools";
import type { Json, Neutral } from "./untranslatable";
import {
  exactJson,
  flagAt,
  isObject,
  listAt,
  member,
  numberAt,
  objectAt,
  onlyKnown,
  orDenial,
  stated,
  textAt,
  Untranslatable,
} from "./untranslatable";

const TRANSLATED = [
  "model",
  "messages",
  "max_tokens",
  "max_completion_tokens",
  "temperature",
  "top_p",
  "stop",
  "stream",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "user",
];

const always = () => true;
const NEUTRAL: Neutral = {
  n: (value) => value === 1,
  logprobs: (value) => value === false,
  top_logprobs: (value) => value === 0,
  logit_bias: (value) => isObject(value) && Object.keys(value).length === 0,
  presence_penalty: (value) => value === 0,
  frequency_penalty: (value) => value === 0,
  response_format: (value) => isObject(value) && value.type === "text",
  modalities: (value) => Array.isArray(value) && value.length === 1 && value[0] === "text",
  store: (value) => value === false,
  service_tier: (value) => value === "auto",
  // Whether the stream states usage is the writer's of the stream.
  stream_options: isObject,
  // Hints for a cache, which change no answer.
  prompt_cache_key: always,
  prompt_cache_retention: always,
  prompt_cache_options: always,
};

function contentOf(content: unknown, field: string, allowsImages: boolean): string | readonly Json[] {
  if (typeof content === "string") return textAt(content, field);
  const parts = listAt(content, field);
  if (parts.length === 0) throw new Untranslatable(field, "must not be empty");
  return parts.map((part, index) => blockOfPart(part, `${field}[${index}]`, allowsImages));
}

function toolUse(value: unknown, field: string): Json {
  const call = objectAt(value, field);
  if (call.type !== "function") throw new Untranslatable(`${field}.type`, "must be function");
  onlyKnown(call, ["id", "type", "function"], {}, `${field}.`);
  const called = objectAt(call.function, `${field}.function`);
  const name = textAt(called.name, `${field}.function.name`);
  const text = textAt(called.arguments, `${field}.function.arguments`);
  const input = objectAt(exactJson(text, `${field}.function.arguments`), `${field}.function.arguments`);
  return { type: "tool_use", id: textAt(call.id, `${field}.id`), name, input };
}

function assistantMessage(message: Json, field: string): Json {
  onlyKnown(message, ["role", "content", "tool_calls"], {}, `${field}.`);
  const calls = stated(message.tool_calls) ? listAt(message.tool_calls, `${field}.tool_calls`) : [];
  const hasContent = stated(message.content) && !(message.content === "" && calls.length > 0);
  const content = hasContent ? contentOf(message.content, `${field}.content`, false) : [];
  if (calls.length === 0) {
    if (!hasContent) throw new Untranslatable(`${field}.content`, "must not be empty");
    return { role: "assistant", content };
  }
  const blocks = typeof content === "string" ? [textBlock(content)] : content;
  const uses = calls.map((call, index) => toolUse(call, `${field}.tool_calls[${index}]`));
  return { role: "assistant", content: [...blocks, ...uses] };
}

function toolResult(message: Json, field: string): Json {
  onlyKnown(message, ["role", "tool_call_id", "content"], {}, `${field}.`);
  // An empty result is a result.
  const content = message.content === "" ? "" : contentOf(message.content, `${field}.content`, false);
  return { type: "tool_result", tool_use_id: textAt(message.tool_call_id, `${field}.tool_call_id`), content };
}

interface Conversation {
  readonly system: (string | readonly Json[])[];
  readonly messages: Json[];
  /** Results of the tool messages just before, which are one message of the user. */
  results: Json[];
}

function endResults(conversation: Conversation): void {
  if (conversation.results.length > 0) conversation.messages.push({ role: "user", content: conversation.results });
  conversation.results = [];
}

function addMessage(conversation: Conversation, message: Json, field: string): void {
  if (message.role === "tool") {
    conversation.results.push(toolResult(message, field));
    return;
  }
  endResults(conversation);
  switch (message.role) {
    case "system":
    case "developer":
      onlyKnown(message, ["role", "content"], {}, `${field}.`);
      if (conversation.messages.length > 0)
        throw new Untranslatable(`${field}.role`, "must come before the messages of user and assistant");
      conversation.system.push(contentOf(message.content, `${field}.content`, false));
      break;
    case "user":
      onlyKnown(message, ["role", "content"], {}, `${field}.`);
      conversation.messages.push({ role: "user", content: contentOf(message.content, `${field}.content`, true) });
      break;
    case "assistant":
      conversation.messages.push(assistantMessage(message, field));
      break;
    default:
      throw new Untranslatable(`${field}.role`, "must be system, developer, user, assistant or tool");
  }
}

function systemOf(parts: Conversation["system"]): Json {
  const [only] = parts;
  if (only === undefined) return {};
  if (parts.length === 1) return { system: only };
  return { system: parts.flatMap((part) => (typeof part === "string" ? [textBlock(part)] : part)) };
}

function conversationOf(value: unknown): Json {
  const list = listAt(value, "messages");
  const conversation: Conversation = { system: [], messages: [], results: [] };
  list.forEach((item, index) => {
    const field = `messages[${index}]`;
    addMessage(conversation, objectAt(item, field), field);
  });
  endResults(conversation);
  const last = conversation.messages.at(-1);
  if (!last) throw new Untranslatable("messages", "must hold a message of the user");
  // To Anthropic that is the beginning of the answer; to OpenAI it is an answer that was given.
  if (last.role === "assistant") throw new Untranslatable("messages", "must not end with the assistant");
  return { ...systemOf(conversation.system), messages: conversation.messages };
}

function capOf(body: Json, fallback: number | null): number {
  const newer = stated(body.max_completion_tokens) ? body.max_completion_tokens : undefined;
  const older = stated(body.max_tokens) ? body.max_tokens : undefined;
  if (newer !== undefined && older !== undefined && newer !== older)
    throw new Untranslatable("max_tokens", "must not differ from max_completion_tokens");
  const field = newer === undefined ? "max_tokens" : "max_completion_tokens";
  return numberAt(newer ?? older ?? fallback, field, 1, Number.MAX_SAFE_INTEGER);
}

function stopSequences(value: unknown): readonly string[] {
  const list = typeof value === "string" ? [value] : listAt(value, "stop");
  return list.map((item, index) => {
    const text = textAt(item, `stop[${index}]`);
    if (text.trim() === "") throw new Untranslatable(`stop[${index}]`, "must not be white space alone");
    return text;
  });
}

/**
 * The body for `POST /v1/messages`, or a denial that names the field. `maxTokens` is the output cap where the body states
 * none: Anthropic requires one.
 */
export function anthropicRequest(value: unknown, maxTokens: number | null): Json | Denial {
  return orDenial(() => {
    const body = objectAt(value, "body");
    onlyKnown(body, TRANSLATED, NEUTRAL);
    const stops = stated(body.stop) ? stopSequences(body.stop) : [];
    const tools = stated(body.tools) ? anthropicTools(body.tools) : [];
    return {
      model: textAt(body.model, "model"),
      ...conversationOf(body.messages),
      max_tokens: capOf(body, maxTokens),
      ...member("temperature", body.temperature, (item) => numberAt(item, "temperature", 0, 1)),
      ...member("top_p", body.top_p, (item) => numberAt(item, "top_p", 0, 1)),
      ...(stops.length > 0 ? { stop_sequences: stops } : {}),
      ...member("stream", body.stream, (item) => flagAt(item, "stream")),
      ...(tools.length > 0 ? { tools } : {}),
      ...anthropicToolChoice(body),
      ...member("metadata", body.user, (item) => ({ user_id: textAt(item, "user") })),
    };
  });
}
