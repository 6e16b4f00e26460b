/** Tools and their choice, both ways (OpenAI: function tools; Anthropic: custom tools). */
import { CACHE_HINT } from "./parts";
import type { Json } from "./untranslatable";
import { flagAt, listAt, member, objectAt, onlyKnown, stated, textAt, Untranslatable } from "./untranslatable";

function schemaAt(value: unknown, field: string): Json {
  if (!stated(value)) return { type: "object", properties: {} };
  const schema = objectAt(value, field);
  if (schema.type !== "object") throw new Untranslatable(`${field}.type`, "must be object");
  return schema;
}

function plainText(field: string) {
  return (value: unknown): string => textAt(value, field);
}

export function anthropicTools(value: unknown): readonly Json[] {
  return listAt(value, "tools").map((item, index) => {
    const field = `tools[${index}]`;
    const tool = objectAt(item, field);
    if (tool.type !== "function") throw new Untranslatable(`${field}.type`, "must be function");
    onlyKnown(tool, ["type", "function"], {}, `${field}.`);
    const called = objectAt(tool.function, `${field}.function`);
    onlyKnown(called, ["name", "description", "parameters", "strict"], {}, `${field}.function.`);
    return {
      name: textAt(called.name, `${field}.function.name`),
      ...member("description", called.description, plainText(`${field}.function.description`)),
      input_schema: schemaAt(called.parameters, `${field}.function.parameters`),
      ...member("strict", called.strict, (strict) => flagAt(strict, `${field}.function.strict`)),
    };
  });
}

export function openAiTools(value: unknown): readonly Json[] {
  return listAt(value, "tools").map((item, index) => {
    const field = `tools[${index}]`;
    const tool = objectAt(item, field);
    const neutral = { ...CACHE_HINT, type: (type: unknown) => type === "custom" };
    onlyKnown(tool, ["name", "description", "input_schema", "strict"], neutral, `${field}.`);
    return {
      type: "function",
      function: {
        name: textAt(tool.name, `${field}.name`),
        ...member("description", tool.description, plainText(`${field}.description`)),
        parameters: schemaAt(tool.input_schema, `${field}.input_schema`),
        ...member("strict", tool.strict, (strict) => flagAt(strict, `${field}.strict`)),
      },
    };
  });
}

function choiceKind(value: unknown): Json {
  if (value === "auto" || value === "none") return { type: value };
  if (value === "required") return { type: "any" };
  const choice = objectAt(value, "tool_choice");
  if (choice.type !== "function") throw new Untranslatable("tool_choice.type", "must be function");
  const called = objectAt(choice.function, "tool_choice.function");
  return { type: "tool", name: textAt(called.name, "tool_choice.function.name") };
}

/** OpenAI's `tool_choice` and `parallel_tool_calls` are one member at Anthropic's. */
export function anthropicToolChoice(body: Json): Json {
  const choice = stated(body.tool_choice) ? choiceKind(body.tool_choice) : undefined;
  if (!stated(body.parallel_tool_calls)) return choice ? { tool_choice: choice } : {};
  const isParallel = flagAt(body.parallel_tool_calls, "parallel_tool_calls");
  // Nothing is called, or nothing can be: then the number of calls says nothing.
  if (choice?.type === "none" || !stated(body.tools)) return choice ? { tool_choice: choice } : {};
  return { tool_choice: { ...(choice ?? { type: "auto" }), disable_parallel_tool_use: !isParallel } };
}

export function openAiToolChoice(value: unknown): Json {
  if (!stated(value)) return {};
  const choice = objectAt(value, "tool_choice");
  onlyKnown(choice, ["type", "name", "disable_parallel_tool_use"], {}, "tool_choice.");
  const parallel = member("parallel_tool_calls", choice.disable_parallel_tool_use, (isDisabled) => {
    return !flagAt(isDisabled, "tool_choice.disable_parallel_tool_use");
  });
  switch (choice.type) {
    case "auto":
    case "none":
      return { tool_choice: choice.type, ...parallel };
    case "any":
      return { tool_choice: "required", ...parallel };
    case "tool": {
      const name = textAt(choice.name, "tool_choice.name");
      return { tool_choice: { type: "function", function: { name } }, ...parallel };
    }
    default:
      throw new Untranslatable("tool_choice.type", "must be auto, any, tool or none");
  }
}
