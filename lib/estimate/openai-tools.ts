/**
 * Tools as OpenAI's models see them: rewritten as TypeScript declarations (gpt-tokenizer's rendering of that format, checked
 * by its authors against billed prompts). Schemas with words that rendering does not know are counted as JSON, which is
 * longer.
 */
import type { ChatCompletionFunctionDefinition } from "gpt-tokenizer/functionCalling";
import { FUNCTION_DEFINITION_TOKEN_OVERHEAD, formatFunctionDefinitions } from "gpt-tokenizer/functionCalling";
import type { JsonObject } from "./json-value";
import { isObject, listOf, objectOf } from "./json-value";
import type { PromptBuilder } from "./prompt";

const TYPES = new Set(["string", "integer", "number", "boolean", "null", "array", "object"]);
const WORDS = new Set(["type", "description", "enum", "items", "properties", "required", "minimum", "maximum"]);
const MAX_DEPTH = 12;

function isTextOrAbsent(value: unknown): boolean {
  return value === undefined || typeof value === "string";
}

function isListOf(value: unknown, kinds: readonly string[]): boolean {
  return value === undefined || (Array.isArray(value) && value.every((item) => kinds.includes(typeof item)));
}

/** Whether the rendering says everything that the schema says. */
function isRendered(schema: unknown, depth: number): boolean {
  if (!isObject(schema) || depth > MAX_DEPTH || Object.keys(schema).some((word) => !WORDS.has(word))) return false;
  const { type, properties, items } = schema;
  if (typeof type !== "string" || !TYPES.has(type) || !isTextOrAbsent(schema.description)) return false;
  // Descriptions of members of members are left out by the rendering.
  if (depth > 1 && schema.description !== undefined) return false;
  if (!isListOf(schema.enum, ["string", "number"]) || !isListOf(schema.required, ["string"])) return false;
  if (items !== undefined && !isRendered(items, depth + 1)) return false;
  if (properties === undefined) return true;
  return isObject(properties) && Object.values(properties).every((member) => isRendered(member, depth + 1));
}

function asDefinition(tool: JsonObject): ChatCompletionFunctionDefinition | undefined {
  const { name, description, parameters } = tool;
  if (typeof name !== "string" || !isTextOrAbsent(description)) return undefined;
  if (parameters !== undefined && (!isRendered(parameters, 0) || objectOf(parameters).type !== "object"))
    return undefined;
  return tool as unknown as ChatCompletionFunctionDefinition;
}

/** Puts the functions into the prompt. `functions` are the bare definitions: name, description, parameters. */
function addFunctions(builder: PromptBuilder, functions: readonly JsonObject[]): void {
  const definitions = functions.map(asDefinition);
  const known = definitions.filter((definition) => definition !== undefined);
  if (builder.vendor !== "openai" || known.length < functions.length) {
    for (const definition of functions) builder.json(definition);
    return;
  }
  const rendered = formatFunctionDefinitions(known);
  builder.serialised(rendered);
  // How the vendor renders is not published: the bound is that of the longer writing.
  const json = JSON.stringify(functions);
  builder.spare(Math.max(0, Buffer.byteLength(json) - Buffer.byteLength(rendered)));
}

/** Functions of `tools` (both shapes: with a `function` member, or flat) and of the older `functions`. */
export function addTools(builder: PromptBuilder, tools: unknown, functions: unknown): boolean {
  const definitions: JsonObject[] = listOf(functions).filter(isObject);
  const others: unknown[] = [];
  for (const tool of listOf(tools)) {
    const entry = objectOf(tool);
    if (isObject(entry.function)) definitions.push(entry.function);
    else if (entry.type === "function") {
      const { name, description, parameters } = entry;
      definitions.push({ name, ...(description == null ? {} : { description }), parameters });
    } else others.push(tool);
  }
  if (definitions.length === 0 && others.length === 0) return false;
  builder.inferred();
  builder.fixed(builder.vendor === "openai" ? FUNCTION_DEFINITION_TOKEN_OVERHEAD : builder.framing.toolsPrompt);
  if (definitions.length > 0) addFunctions(builder, definitions);
  for (const other of others) {
    // Tools that the provider runs bring what they find into the prompt, turn after turn.
    if (objectOf(other).type === "custom") builder.json(other);
    else builder.unseen();
  }
  return true;
}

const SCHEMA_FRAMING = 24;

/** A `json_schema` response format is written into the prompt. */
export function addSchemaFormat(builder: PromptBuilder, format: unknown): void {
  const schema = objectOf(format);
  if (schema.type !== "json_schema") return;
  builder.fixed(SCHEMA_FRAMING);
  builder.json(schema.json_schema ?? schema.schema ?? format);
}
