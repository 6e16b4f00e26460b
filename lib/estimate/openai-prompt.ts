/** Input of OpenAI's chat, completions and embeddings requests (API reference; the cookbook's "How to count tokens"). */
import type { JsonObject } from "./json-value";
import { isObject, listOf, objectOf, textOf } from "./json-value";
import { base64Bytes, base64OfDataUrl } from "./image-size";
import type { ImageDetail } from "./image-tokens";
import { addSchemaFormat, addTools } from "./openai-tools";
import type { PromptBuilder } from "./prompt";

/** gpt-tokenizer's SYSTEM_FUNCTION_TOKEN_DEDUCTION: tools are written into the first system message. */
const SYSTEM_WITH_TOOLS = -4;
/** OpenAI bills the found text of its search models as a block of this size. */
const SEARCH_BLOCK = 8000;
const FILE_FRAMING = 16;

function detailOf(value: unknown): ImageDetail {
  return value === "low" || value === "high" || value === "original" ? value : "auto";
}

/** A file in the message: text by its bytes, anything else (a PDF's text and pages) by the model's context alone. */
function addFile(builder: PromptBuilder, file: JsonObject): void {
  const data = textOf(file.file_data);
  builder.uncounted(file.filename);
  const base64 = data === undefined ? undefined : base64OfDataUrl(data);
  if (base64 !== undefined && data?.slice(0, 10).toLowerCase() === "data:text/") {
    builder.fixed(base64Bytes(base64) + FILE_FRAMING);
    builder.inferred();
  } else builder.unseen();
}
/** One part of a message, of chat ("text") or of responses ("input_text"). */
function addPart(builder: PromptBuilder, part: unknown): void {
  const value = objectOf(part);
  switch (value.type) {
    case "text":
    case "input_text":
    case "output_text":
    case "summary_text":
    case "reasoning_text":
      builder.text(textOf(value.text) ?? "");
      return;
    case "refusal":
      builder.text(textOf(value.refusal) ?? "");
      return;
    case "image_url":
    case "input_image": {
      const image = isObject(value.image_url) ? value.image_url : value;
      builder.imageOfUrl(textOf(image === value ? value.image_url : image.url), detailOf(image.detail ?? value.detail));
      return;
    }
    case "input_audio": {
      const audio = objectOf(value.input_audio);
      const data = textOf(audio.data);
      if (data === undefined) builder.unseen();
      else builder.audio(base64OfDataUrl(data) ?? data, textOf(audio.format) ?? "");
      return;
    }
    case "file":
    case "input_file":
      addFile(builder, isObject(value.file) ? value.file : value);
      return;
    default:
      builder.unseen();
  }
}

/** The content of a message: a text, parts, or nothing. `tail` is what the vendor puts behind a text. */
export function addContent(builder: PromptBuilder, content: unknown, tail = ""): void {
  if (typeof content === "string") builder.text(content === "" || content.endsWith(tail) ? content : content + tail);
  else if (Array.isArray(content)) for (const part of content as unknown[]) addPart(builder, part);
  else if (content !== undefined && content !== null) builder.json(content);
}

function addCall(builder: PromptBuilder, call: unknown): void {
  const { name, arguments: input } = objectOf(call);
  builder.text(textOf(name) ?? "");
  addContent(builder, input);
  builder.fixed(builder.framing.perToolCall);
  builder.inferred();
}

function addToolCall(builder: PromptBuilder, call: unknown): void {
  const entry = objectOf(call);
  builder.uncounted(entry.id);
  addCall(builder, entry.function ?? { name: objectOf(entry.custom).name, arguments: objectOf(entry.custom).input });
}

const COUNTED = new Set(["role", "content", "name", "tool_calls", "function_call", "reasoning_content", "refusal"]);

function addMessage(builder: PromptBuilder, value: unknown, tail: string): void {
  const message = objectOf(value);
  builder.fixed(builder.framing.perMessage);
  builder.text(textOf(message.role) ?? "");
  addContent(builder, message.content, tail);
  for (const member of ["reasoning_content", "refusal"]) builder.text(textOf(message[member]) ?? "");
  const name = textOf(message.name);
  if (name !== undefined) {
    builder.text(name);
    builder.fixed(builder.framing.perName);
  }
  for (const call of listOf(message.tool_calls)) addToolCall(builder, call);
  if (isObject(message.function_call)) addCall(builder, message.function_call);
  // A spoken answer of the model, referred to by its id.
  if (message.role === "assistant" && isObject(message.audio)) builder.unseen();
  for (const [member, extra] of Object.entries(message)) if (!COUNTED.has(member)) builder.uncounted(extra);
}

/** POST /v1/chat/completions. */
export function addChat(builder: PromptBuilder, body: JsonObject): void {
  const messages = listOf(body.messages);
  const isOpenAi = builder.vendor === "openai";
  const hasTools = addTools(builder, body.tools, body.functions);
  const first = messages.findIndex((message) => objectOf(message).role === "system");
  messages.forEach((message, index) => {
    addMessage(builder, message, isOpenAi && hasTools && index === first ? "\n" : "");
  });
  if (isOpenAi && hasTools && first >= 0) builder.fixed(SYSTEM_WITH_TOOLS);
  if (first < 0) builder.fixed(builder.framing.defaultSystem);
  if (!isOpenAi) builder.inferred();
  builder.reply();
  addSchemaFormat(builder, body.response_format);
  for (const choice of [body.tool_choice, body.function_call]) if (isObject(choice)) builder.json(choice);
  if (isObject(body.web_search_options)) {
    builder.fixed(SEARCH_BLOCK);
    builder.unseen();
  }
}

/** Token ids (`[1, 2]` or `[[1, 2], [3]]`) are tokens already; texts are counted. */
function addTextsOrIds(builder: PromptBuilder, input: unknown): void {
  if (typeof input === "number") builder.fixed(1);
  else if (typeof input === "string") builder.text(input);
  else for (const item of listOf(input)) addTextsOrIds(builder, item);
}

/** POST /v1/completions: every prompt of an array is billed. No prompt is one end-of-text token. */
export function addCompletion(builder: PromptBuilder, body: JsonObject): void {
  addTextsOrIds(builder, body.prompt ?? [0]);
  if (typeof body.suffix === "string") {
    builder.text(body.suffix);
    builder.fixed(3);
    builder.inferred();
  }
}

/** POST /v1/embeddings and /v1/moderations: texts, token ids; parts at multimodal models. */
export function addEmbedding(builder: PromptBuilder, body: JsonObject): void {
  const { input } = body;
  if (Array.isArray(input) && input.some(isObject)) addContent(builder, input);
  else addTextsOrIds(builder, input);
}
