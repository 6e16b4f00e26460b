/** Whole answers, both ways. What comes from a provider and cannot be carried over is thrown as Untranslatable. */
import { anthropicUsage, finishReason, openAiUsage, stopReason } from "./ends-and-usage";
import { textBlock } from "./parts";
import type { Json } from "./untranslatable";
import { exactJson, isObject, listAt, objectAt, stated, textAt, Untranslatable } from "./untranslatable";

/** Thoughts are hidden at OpenAI's; they are in the usage. */
export const HIDDEN_BLOCKS: ReadonlySet<unknown> = new Set(["thinking", "redacted_thinking"]);

/** An Anthropic message as an OpenAI chat completion. */
export function openAiAnswer(value: unknown, createdSeconds: number): Json {
  const message = objectAt(value, "message");
  let text = "";
  const calls: Json[] = [];
  listAt(message.content, "content").forEach((item, index) => {
    const block = objectAt(item, `content[${index}]`);
    if (block.type === "text") text += String(block.text);
    else if (block.type === "tool_use") {
      const input = JSON.stringify(objectAt(block.input, `content[${index}].input`));
      calls.push({ id: block.id, type: "function", function: { name: block.name, arguments: input } });
    } else if (!HIDDEN_BLOCKS.has(block.type)) {
      throw new Untranslatable(`content[${index}].type`, "has no counterpart");
    }
  });
  const answer = {
    role: "assistant",
    content: text === "" ? null : text,
    refusal: null,
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  };
  return {
    id: message.id,
    object: "chat.completion",
    created: createdSeconds,
    model: message.model,
    choices: [{ index: 0, message: answer, logprobs: null, finish_reason: finishReason(message.stop_reason) }],
    usage: openAiUsage(message.usage),
  };
}

function toolUse(value: unknown, field: string): Json {
  const call = objectAt(value, field);
  const called = objectAt(call.function, `${field}.function`);
  const text = called.arguments === "" ? "{}" : textAt(called.arguments, `${field}.function.arguments`);
  const input = objectAt(exactJson(text, `${field}.function.arguments`), `${field}.function.arguments`);
  return { type: "tool_use", id: call.id, name: called.name, input };
}

/** An OpenAI chat completion of one choice as an Anthropic message. */
export function anthropicAnswer(value: unknown): Json {
  const completion = objectAt(value, "completion");
  const choices = listAt(completion.choices, "choices");
  if (choices.length !== 1) throw new Untranslatable("choices", "must be one");
  const choice = objectAt(choices[0], "choices[0]");
  const message = objectAt(choice.message, "choices[0].message");
  const calls = stated(message.tool_calls) ? listAt(message.tool_calls, "choices[0].message.tool_calls") : [];
  const isRefusal = typeof message.refusal === "string" && message.refusal !== "";
  const texts = [message.content, message.refusal].filter((text) => typeof text === "string" && text !== "");
  return {
    id: completion.id,
    type: "message",
    role: "assistant",
    model: completion.model,
    content: [
      ...texts.map((text) => textBlock(String(text))),
      ...calls.map((call, index) => toolUse(call, `choices[0].message.tool_calls[${index}]`)),
    ],
    stop_reason: isRefusal ? "refusal" : stopReason(choice.finish_reason, calls.length > 0),
    stop_sequence: null,
    usage: anthropicUsage(isObject(completion.usage) ? completion.usage : choice.usage),
  };
}
