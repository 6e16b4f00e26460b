/** Input of Gemini's generateContent requests (API reference; "Understand and count tokens"). */
import type { JsonObject } from "./json-value";
import { isObject, listOf, objectOf, textOf } from "./json-value";
import type { PromptBuilder } from "./prompt";

const PER_PART = 2;

function addBlob(builder: PromptBuilder, blob: JsonObject): void {
  const kind = textOf(blob.mimeType ?? blob.mime_type)?.toLowerCase() ?? "";
  const data = textOf(blob.data);
  if (data !== undefined && kind.startsWith("image/")) builder.imageOfBase64(data, "auto");
  else if (data !== undefined && kind.startsWith("audio/")) builder.audio(data, kind.slice("audio/".length));
  else builder.unseen();
}

function addPart(builder: PromptBuilder, value: unknown): void {
  const part = objectOf(value);
  builder.fixed(PER_PART);
  for (const [member, content] of Object.entries(part)) {
    if (member === "text" && typeof content === "string") builder.text(content);
    else if (member === "inlineData" || member === "inline_data") addBlob(builder, objectOf(content));
    else if (member === "fileData" || member === "file_data") {
      const kind = textOf(objectOf(content).mimeType ?? objectOf(content).mime_type);
      // A stored picture is bounded by the rules for pictures; sound, film and documents are not.
      if (kind?.startsWith("image/") === true) builder.imageOfBase64(undefined, "auto");
      else builder.unseen();
    } else if (member === "thoughtSignature" || member === "thought") builder.uncounted(content);
    else builder.json(content);
  }
}

function addContent(builder: PromptBuilder, value: unknown): void {
  if (typeof value === "string") {
    builder.text(value);
    return;
  }
  const content = objectOf(value);
  builder.fixed(builder.framing.perMessage);
  builder.text(textOf(content.role) ?? "");
  if (isObject(content.parts)) addPart(builder, content.parts);
  for (const part of listOf(content.parts)) addPart(builder, part);
}

/** POST /v1beta/models/{model}:generateContent, :streamGenerateContent and :countTokens. */
export function addGemini(builder: PromptBuilder, body: JsonObject): void {
  const { contents } = body;
  for (const content of Array.isArray(contents) ? (contents as unknown[]) : [contents]) addContent(builder, content);
  const system = body.systemInstruction ?? body.system_instruction;
  if (system !== undefined) addContent(builder, system);
  const tools = listOf(body.tools);
  for (const tool of tools) {
    builder.json(tool);
    const names = Object.keys(objectOf(tool));
    if (names.some((name) => name !== "functionDeclarations" && name !== "function_declarations")) builder.unseen();
  }
  if (tools.length > 0) builder.fixed(builder.framing.toolsPrompt);
  const config = objectOf(body.generationConfig ?? body.generation_config);
  for (const schema of [config.responseSchema, config.responseJsonSchema, config.response_schema])
    if (schema !== undefined) builder.json(schema);
  if (body.cachedContent !== undefined || body.cached_content !== undefined) builder.unseen();
  builder.reply();
  builder.inferred();
}
