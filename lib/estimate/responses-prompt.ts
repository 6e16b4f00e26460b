/** Input of OpenAI's responses requests (API reference, "Create a model response"). */
import type { JsonObject } from "./json-value";
import { isObject, objectOf, textOf } from "./json-value";
import { addContent } from "./openai-prompt";
import { addSchemaFormat, addTools } from "./openai-tools";
import type { PromptBuilder } from "./prompt";

function addItem(builder: PromptBuilder, value: unknown): void {
  const item = objectOf(value);
  builder.fixed(builder.framing.perMessage);
  switch (item.type ?? "message") {
    case "message":
      builder.text(textOf(item.role) ?? "");
      addContent(builder, item.content);
      builder.uncounted(item.id);
      return;
    case "function_call":
    case "custom_tool_call":
      builder.text(textOf(item.name) ?? "");
      addContent(builder, item.arguments ?? item.input);
      builder.fixed(builder.framing.perToolCall);
      builder.uncounted([item.call_id, item.id]);
      builder.inferred();
      return;
    case "function_call_output":
    case "custom_tool_call_output":
      addContent(builder, item.output);
      builder.fixed(builder.framing.perToolCall);
      builder.uncounted([item.call_id, item.id]);
      builder.inferred();
      return;
    case "reasoning":
      // Encrypted reasoning is as long as what it hides, at the least.
      builder.json(item);
      return;
    default:
      builder.unseen();
  }
}

/** POST /v1/responses. Earlier context is billed again as input and is not in the request. */
export function addResponses(builder: PromptBuilder, body: JsonObject): void {
  const { input, instructions } = body;
  const messages = typeof input === "string" ? [{ role: "user", content: input }] : input;
  if (typeof instructions === "string") addItem(builder, { role: "system", content: instructions });
  else if (instructions !== undefined && instructions !== null) addContent(builder, instructions);
  if (Array.isArray(messages)) for (const item of messages as unknown[]) addItem(builder, item);
  addTools(builder, body.tools, undefined);
  if (isObject(body.tool_choice)) builder.json(body.tool_choice);
  addSchemaFormat(builder, objectOf(body.text).format);
  builder.reply();
  if (body.previous_response_id != null || body.conversation != null || body.prompt != null) builder.unseen();
}
