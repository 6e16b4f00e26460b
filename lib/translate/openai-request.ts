/**
 * An Anthropic messages request as an OpenAI chat request. Both must mean the same; what has no exact counterpart (thinking,
 * documents, citations, tools that run at Anthropic, top_k) is refused by the name of its field.
 */
import type { Denial } from "@/lib/domain/denial";
import { CACHE_HINT, partOfBlock } from "./parts";
import { openAiToolChoice, openAiTools } from "./tools";
import type { Json, Neutral } from "./untranslatable";
import {
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
  "system",
  "temperature",
  "top_p",
  "stop_sequences",
  "stream",
  "tools",
  "tool_choice",
  "metadata",
];

const NEUTRAL: Neutral = {
  ...CACHE_HINT,
  thinking: (value) => isObject(value) && value.type === "disabled",
  service_tier: (value) => value === "auto",
  speed: (value) => value === "standard",
};

/** OpenAI takes no more. */
const MAX_STOPS = 4;

function contentOf(content: unknown, field: string, allowsImages: boolean): string | readonly Json[] {
  if (typeof content === "string") return textAt(content, field);
  const blocks = listAt(content, field);
  if (blocks.length === 0) throw new Untranslatable(field, "must not be empty");
  return blocks.map((block, index) => partOfBlock(block, `${field}[${index}]`, allowsImages));
}

function isOfType(block: unknown, type: string): block is Json {
  return isObject(block) && block.type === type;
}

function toolMessage(block: Json, field: string): Json {
  const neutral = { ...CACHE_HINT, is_error: (value: unknown) => value === false };
  onlyKnown(block, ["type", "tool_use_id", "content"], neutral, `${field}.`);
  const isEmpty = !stated(block.content) || block.content === "";
  const content = isEmpty ? "" : contentOf(block.content, `${field}.content`, false);
  return { role: "tool", tool_call_id: textAt(block.tool_use_id, `${field}.tool_use_id`), content };
}

/** Results of tools come first in a message of the user and are messages of their own at OpenAI's. */
function userMessages(content: unknown, field: string): readonly Json[] {
  const results = Array.isArray(content) ? content.filter((block) => isOfType(block, "tool_result")) : [];
  if (!Array.isArray(content) || results.length === 0)
    return [{ role: "user", content: contentOf(content, field, true) }];
  const rest = content.slice(results.length) as unknown[];
  if (rest.some((block) => isOfType(block, "tool_result")))
    throw new Untranslatable(field, "must hold results of tools before everything else");
  const tools = results.map((block, index) => toolMessage(block, `${field}[${index}]`));
  if (rest.length === 0) return tools;
  const parts = rest.map((block, index) => partOfBlock(block, `${field}[${results.length + index}]`, true));
  return [...tools, { role: "user", content: parts }];
}

function toolCall(block: Json, field: string): Json {
  onlyKnown(block, ["type", "id", "name", "input"], CACHE_HINT, `${field}.`);
  const input = objectAt(block.input, `${field}.input`);
  return {
    id: textAt(block.id, `${field}.id`),
    type: "function",
    function: { name: textAt(block.name, `${field}.name`), arguments: JSON.stringify(input) },
  };
}

function assistantMessage(content: unknown, field: string): Json {
  if (!Array.isArray(content)) return { role: "assistant", content: contentOf(content, field, false) };
  const first = content.findIndex((block) => isOfType(block, "tool_use"));
  if (first < 0) return { role: "assistant", content: contentOf(content, field, false) };
  const parts = content.slice(0, first).map((block, index) => partOfBlock(block, `${field}[${index}]`, false));
  const calls = content.slice(first).map((block: unknown, index) => {
    const name = `${field}[${first + index}]`;
    if (!isOfType(block, "tool_use")) throw new Untranslatable(name, "must not come after a call of a tool");
    return toolCall(block, name);
  });
  const [only] = parts;
  const text = parts.length === 1 && only ? only.text : parts.length === 0 ? null : parts;
  return { role: "assistant", content: text, tool_calls: calls };
}

function conversationOf(value: unknown): readonly Json[] {
  const list = listAt(value, "messages");
  if (isObject(list.at(-1)) && (list.at(-1) as Json).role === "assistant")
    throw new Untranslatable("messages", "must not end with the assistant");
  return list.flatMap((item, index) => {
    const field = `messages[${index}]`;
    const message = objectAt(item, field);
    onlyKnown(message, ["role", "content"], {}, `${field}.`);
    if (message.role === "user") return userMessages(message.content, `${field}.content`);
    if (message.role === "assistant") return [assistantMessage(message.content, `${field}.content`)];
    throw new Untranslatable(`${field}.role`, "must be user or assistant");
  });
}

function userOf(value: unknown): Json {
  if (!stated(value)) return {};
  const metadata = objectAt(value, "metadata");
  onlyKnown(metadata, ["user_id"], {}, "metadata.");
  return member("user", metadata.user_id, (item) => textAt(item, "metadata.user_id"));
}

function stopsOf(value: unknown): readonly string[] {
  const list = listAt(value, "stop_sequences");
  if (list.length > MAX_STOPS) throw new Untranslatable("stop_sequences", `must be at most ${MAX_STOPS}`);
  return list.map((item, index) => textAt(item, `stop_sequences[${index}]`));
}

/** The body for `POST /v1/chat/completions`, or a denial that names the field. A stream is asked to state its usage. */
export function openAiRequest(value: unknown, capField: "max_completion_tokens" | "max_tokens"): Json | Denial {
  return orDenial(() => {
    const body = objectAt(value, "body");
    onlyKnown(body, TRANSLATED, NEUTRAL);
    const system = stated(body.system) ? [{ role: "system", content: contentOf(body.system, "system", false) }] : [];
    const stops = stated(body.stop_sequences) ? stopsOf(body.stop_sequences) : [];
    const tools = stated(body.tools) ? openAiTools(body.tools) : [];
    return {
      model: textAt(body.model, "model"),
      messages: [...system, ...conversationOf(body.messages)],
      [capField]: numberAt(body.max_tokens, "max_tokens", 1, Number.MAX_SAFE_INTEGER),
      ...member("temperature", body.temperature, (item) => numberAt(item, "temperature", 0, 1)),
      ...member("top_p", body.top_p, (item) => numberAt(item, "top_p", 0, 1)),
      ...(stops.length > 0 ? { stop: stops } : {}),
      ...member("stream", body.stream, (item) => flagAt(item, "stream")),
      ...(body.stream === true ? { stream_options: { include_usage: true } } : {}),
      ...(tools.length > 0 ? { tools } : {}),
      ...openAiToolChoice(body.tool_choice),
      ...userOf(body.metadata),
    };
  });
}
