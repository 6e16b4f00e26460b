/** Input of Anthropic's messages requests (API reference; "Token counting", "Tool use", "Vision", "PDF support"). */
import type { JsonObject } from "./json-value";
import { isObject, listOf, objectOf, textOf } from "./json-value";
import type { PromptBuilder } from "./prompt";

/**
 * Tokens of the hidden system prompt that comes with tools ("Tool use", pricing table), the dearer of its two columns;
 * later models have a tokenizer that makes about 30 % more of the same text.
 */
const TOOLS_PROMPTS: readonly (readonly [RegExp, number])[] = [
  [/claude-3-opus/u, 530],
  [/claude-3-sonnet/u, 235],
  [/claude-(?:3|3-5)-haiku/u, 340],
];
const TOOLS_PROMPT = 346;
const TOOLS_PROMPT_NEW = 530;

/** Definitions that the vendor writes itself: text editor 700, bash 245, computer use 735 with up to 499 in the prompt. */
const VENDOR_TOOLS: readonly (readonly [RegExp, number])[] = [
  [/^bash_/u, 245],
  [/^text_editor_/u, 700],
  [/^computer_/u, 1234],
  [/^memory_/u, 700],
];
const PER_TOOL = 16;

function toolsPrompt(builder: PromptBuilder): number {
  const { name, family } = builder.model;
  const listed = TOOLS_PROMPTS.find(([pattern]) => pattern.test(name.toLowerCase()))?.[1];
  return listed ?? (family.id === "claude" ? TOOLS_PROMPT : TOOLS_PROMPT_NEW);
}

function addTools(builder: PromptBuilder, body: JsonObject): void {
  const tools = listOf(body.tools);
  if (tools.length === 0 && listOf(body.mcp_servers).length === 0) return;
  builder.fixed(toolsPrompt(builder));
  builder.inferred();
  for (const tool of tools) {
    const { type } = objectOf(tool);
    builder.json(tool);
    builder.fixed(PER_TOOL);
    if (typeof type !== "string" || type === "custom") continue;
    const stated = VENDOR_TOOLS.find(([pattern]) => pattern.test(type))?.[1];
    if (stated === undefined) builder.unseen();
    else builder.fixed(stated);
  }
  if (listOf(body.mcp_servers).length > 0) builder.unseen();
}

function addDocument(builder: PromptBuilder, block: JsonObject): void {
  const source = objectOf(block.source);
  builder.fixed(PER_TOOL);
  builder.inferred();
  for (const member of [block.title, block.context]) builder.text(textOf(member) ?? "");
  if (source.type === "text") builder.text(textOf(source.data) ?? "");
  else if (source.type === "content") addBlocks(builder, source.content);
  else builder.unseen();
}

function addImage(builder: PromptBuilder, block: JsonObject): void {
  const source = objectOf(block.source);
  builder.imageOfBase64(source.type === "base64" ? textOf(source.data) : undefined, "auto");
}

function addBlock(builder: PromptBuilder, value: unknown): void {
  const block = objectOf(value);
  switch (block.type) {
    case "text":
      builder.text(textOf(block.text) ?? "");
      if (block.citations !== undefined) builder.uncounted(block.citations);
      return;
    case "image":
      addImage(builder, block);
      return;
    case "document":
      addDocument(builder, block);
      return;
    case "thinking":
      builder.text(textOf(block.thinking) ?? "");
      builder.uncounted(block.signature);
      builder.inferred();
      return;
    case "tool_use":
      builder.text(textOf(block.name) ?? "");
      builder.json(block.input);
      builder.fixed(builder.framing.perToolCall);
      builder.uncounted(block.id);
      return;
    case "tool_result":
      addBlocks(builder, block.content);
      builder.fixed(builder.framing.perToolCall);
      builder.uncounted(block.tool_use_id);
      return;
    case "redacted_thinking":
    case "search_result":
      builder.json(block);
      return;
    default:
      builder.unseen();
  }
}

function addBlocks(builder: PromptBuilder, content: unknown): void {
  if (typeof content === "string") builder.text(content);
  else if (Array.isArray(content)) for (const block of content as unknown[]) addBlock(builder, block);
  else if (content !== undefined && content !== null) builder.json(content);
}

/** POST /v1/messages and /v1/messages/count_tokens. */
export function addAnthropic(builder: PromptBuilder, body: JsonObject): void {
  addBlocks(builder, body.system);
  if (body.system !== undefined) builder.fixed(builder.framing.perMessage);
  for (const value of listOf(body.messages)) {
    const message = objectOf(value);
    builder.fixed(builder.framing.perMessage);
    builder.text(textOf(message.role) ?? "");
    addBlocks(builder, message.content);
  }
  addTools(builder, body);
  if (isObject(body.tool_choice)) builder.uncounted(body.tool_choice);
  for (const format of [body.output_format, body.output_config]) if (isObject(format)) builder.json(format);
  if (body.container !== undefined && body.container !== null) builder.unseen();
  builder.reply();
  builder.inferred();
}
