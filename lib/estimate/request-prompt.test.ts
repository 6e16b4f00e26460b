import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { familyOf } from "./families";
import { InlineTokenizers } from "./inline-tokenizers";
import type { RequestShape } from "./request-prompt";
import { boundOf, guessOf, LARGEST_CONTEXT_TOKENS, promptOf, textBytes } from "./request-prompt";
import type { BytePairEncoding } from "./split-patterns";
import { countAll } from "./tokenizers";

const inline = new InlineTokenizers();
beforeAll(() => inline.preload(["cl100k_base", "o200k_base"]));

function read(shape: RequestShape, model: string, body: unknown, contextTokens: number | null = null) {
  const family = familyOf(model, null);
  const prompt = promptOf(shape, body, { name: model, family });
  const tokenizer = inline.get(family.encoding as BytePairEncoding);
  const count = tokenizer ? countAll(tokenizer, prompt.texts).tokens + prompt.fixedTokens : Number.NaN;
  return { prompt, count, bound: boundOf(prompt, family, contextTokens) };
}
const countOf = (shape: RequestShape, model: string, body: unknown) => read(shape, model, body).count;
const chat = (model: string, ...messages: unknown[]) => read("openai-chat", model, { model, messages });

/** The example of OpenAI's cookbook, "How to count tokens with tiktoken" (MIT), with the counts it got from the API. */
const COOKBOOK = [
  {
    role: "system",
    content: "You are a helpful, pattern-following assistant that translates corporate jargon into plain English.",
  },
  { role: "system", name: "example_user", content: "New synergies will help drive top-line growth." },
  { role: "system", name: "example_assistant", content: "Things working well together will increase revenue." },
  {
    role: "system",
    name: "example_user",
    content: "Let's circle back when we have more bandwidth to touch base on opportunities for increased leverage.",
  },
  {
    role: "system",
    name: "example_assistant",
    content: "Let's talk later when we're less busy about how to do better.",
  },
  {
    role: "user",
    content: "This late pivot means we don't have time to boil the ocean for the client deliverable.",
  },
];
const WEATHER = {
  name: "get_current_weather",
  description: "Get the current weather in a given location",
  parameters: {
    type: "object",
    properties: {
      location: { type: "string", description: "The city and state, e.g. San Francisco, CA" },
      unit: { type: "string", description: "The unit of temperature to return", enum: ["celsius", "fahrenheit"] },
    },
    required: ["location"],
  },
};

describe("a chat request", () => {
  it("has the count of OpenAI's published example", () => {
    expect(chat("gpt-4", ...COOKBOOK).count).toBe(129);
    expect(chat("gpt-4o", ...COOKBOOK).count).toBe(124);
  });

  it("with tools is within one token of OpenAI's published example", () => {
    const messages = [
      { role: "system", content: "You are a helpful assistant that can answer to questions about the weather." },
      { role: "user", content: "What's the weather like in Pittsburgh?" },
    ];
    const tools = [{ type: "function", function: WEATHER }];
    for (const [model, published] of [
      ["gpt-4", 105],
      ["gpt-4o", 101],
    ] as const) {
      const count = countOf("openai-chat", model, { messages, tools });
      expect(Math.abs(count - published)).toBeLessThanOrEqual(1);
    }
  });

  it("counts the same tools the same in the older and the flat shape", () => {
    const messages = [{ role: "user", content: "hi" }];
    const nested = countOf("openai-chat", "gpt-4o", { messages, tools: [{ type: "function", function: WEATHER }] });
    expect(countOf("openai-chat", "gpt-4o", { messages, functions: [WEATHER] })).toBe(nested);
    expect(countOf("openai-chat", "gpt-4o", { messages, tools: [{ type: "function", ...WEATHER }] })).toBe(nested);
  });

  it("is exact for plain text only", () => {
    const user = { role: "user", content: "hi" };
    expect(chat("gpt-4o", user).prompt.isInferred).toBe(false);
    expect(read("openai-chat", "gpt-4o", { messages: [user], functions: [WEATHER] }).prompt.isInferred).toBe(true);
    expect(chat("qwen3-32b", user).prompt.isInferred).toBe(true);
  });

  it("counts parts as the text they hold", () => {
    const text = "What is in this picture?";
    const parts = chat("gpt-4o", { role: "user", content: [{ type: "text", text }] });
    expect(parts.count).toBe(chat("gpt-4o", { role: "user", content: text }).count);
  });

  it("does not count the bytes of a picture as text, and knows its size", () => {
    const head = Buffer.alloc(100_000, 7);
    head.write("\x89PNG\r\n\x1a\n", "latin1");
    head.writeUInt32BE(1024, 16);
    head.writeUInt32BE(1024, 20);
    const url = `data:image/png;base64,${head.toString("base64")}`;
    const { count, bound } = chat("gpt-4o", { role: "user", content: [{ type: "image_url", image_url: { url } }] });
    expect(count).toBe(765 + 3 + 3 + 1);
    expect(bound).toBeLessThan(1000);
  });

  it("holds the largest picture for one that is elsewhere", () => {
    const part = { type: "image_url", image_url: { url: "https://example.com/cat.png" } };
    expect(chat("gpt-4o", { role: "user", content: [part] }).count).toBeGreaterThanOrEqual(1445);
  });

  it("is bounded by the model's context where its input is not in the request", () => {
    const file = { role: "user", content: [{ type: "file", file: { file_id: "file-1" } }] };
    expect(chat("gpt-4o", file).bound).toBe(LARGEST_CONTEXT_TOKENS);
    expect(read("openai-chat", "gpt-4o", { messages: [file] }, 128_000).bound).toBe(128_000);
  });

  it("is never bounded above the model's context", () => {
    const messages = [{ role: "user", content: "a".repeat(10_000) }];
    expect(read("openai-chat", "gpt-4o", { messages }, 8192).bound).toBe(8192);
  });

  it("counts calls, answers and thoughts of earlier turns", () => {
    const call = { id: "call_1", type: "function", function: { name: "get_weather", arguments: '{"city":"上海"}' } };
    const turns = chat(
      "gpt-4o",
      { role: "user", content: "weather?" },
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: "call_1", content: "sunny" },
    );
    const { texts } = turns.prompt;
    expect(texts).toEqual(["user", "weather?", "assistant", "get_weather", '{"city":"上海"}', "tool", "sunny"]);
    expect(turns.bound).toBeGreaterThan(turns.count);
  });
});

describe("other requests", () => {
  it("completions: every prompt, and ids as they are", () => {
    expect(countOf("openai-completion", "davinci-002", { prompt: "hello world" })).toBe(2);
    expect(countOf("openai-completion", "davinci-002", { prompt: ["hello world", "hello world"] })).toBe(4);
    expect(countOf("openai-completion", "davinci-002", { prompt: [15339, 1917] })).toBe(2);
    expect(countOf("openai-completion", "davinci-002", {})).toBe(1);
  });

  it("embeddings: texts, lists of texts, ids and lists of ids", () => {
    const model = "text-embedding-3-small";
    expect(countOf("openai-embedding", model, { input: "hello world" })).toBe(2);
    expect(countOf("openai-embedding", model, { input: ["hello world", "hello"] })).toBe(3);
    expect(countOf("openai-embedding", model, { input: [1, 2, 3] })).toBe(3);
    expect(countOf("openai-embedding", model, { input: [[1, 2, 3], [4]] })).toBe(4);
  });

  it("responses: a text counts as a user's message, instructions as a system message", () => {
    const text = countOf("openai-responses", "gpt-4o", { input: "hello world", instructions: "be kind" });
    const messages = [
      { role: "system", content: "be kind" },
      { role: "user", content: "hello world" },
    ];
    expect(text).toBe(countOf("openai-chat", "gpt-4o", { messages }));
    const items = [{ type: "message", role: "user", content: [{ type: "input_text", text: "hello world" }] }];
    expect(countOf("openai-responses", "gpt-4o", { input: items, instructions: "be kind" })).toBe(text);
  });

  it("responses: earlier context is bounded by the model's", () => {
    for (const member of [{ previous_response_id: "r" }, { conversation: "c" }, { tools: [{ type: "web_search" }] }]) {
      expect(read("openai-responses", "gpt-4o", { input: "hi", ...member }, 128_000).bound).toBe(128_000);
    }
  });

  it("messages: the documents' examples are within the margin", () => {
    const hello = { system: "You are a scientist", messages: [{ role: "user", content: "Hello, Claude" }] };
    // 14 by the documents.
    const plain = countOf("anthropic-messages", "claude-opus-4-6", hello);
    expect(plain).toBeGreaterThanOrEqual(14);
    expect(plain).toBeLessThan(40);
    const tools = [
      {
        name: "get_weather",
        description: "Get the current weather in a given location",
        input_schema: {
          type: "object",
          properties: { location: { type: "string", description: "The city and state, e.g. San Francisco, CA" } },
          required: ["location"],
        },
      },
    ];
    const messages = [{ role: "user", content: "What's the weather like in San Francisco?" }];
    // 403 by the documents.
    const withTools = countOf("anthropic-messages", "claude-sonnet-4-5", { tools, messages });
    expect(withTools).toBeGreaterThanOrEqual(403);
    expect(withTools).toBeLessThan(480);
  });

  it("messages: text, documents and results of tools count as the text they hold", () => {
    const content = [
      { type: "text", text: "one" },
      { type: "document", source: { type: "text", media_type: "text/plain", data: "two" } },
      { type: "tool_result", tool_use_id: "t", content: [{ type: "text", text: "three" }] },
    ];
    const { prompt } = read("anthropic-messages", "claude-opus-4-6", { messages: [{ role: "user", content }] });
    expect(prompt.texts).toEqual(["user", "one", "two", "three"]);
    expect(prompt.isUnseen).toBe(false);
  });

  it("contents: texts of all parts, in both spellings", () => {
    const body = {
      contents: [{ role: "user", parts: [{ text: "one" }, { text: "two" }] }],
      system_instruction: { parts: [{ text: "three" }] },
    };
    const { prompt } = read("gemini-contents", "gemini-2.5-pro", body);
    expect(prompt.texts).toEqual(["user", "one", "two", "three"]);
    expect(read("gemini-contents", "gemini-2.5-pro", { ...body, cachedContent: "c" }).prompt.isUnseen).toBe(true);
  });
});

const SHAPES: readonly RequestShape[] = [
  "openai-chat",
  "openai-responses",
  "openai-completion",
  "openai-embedding",
  "anthropic-messages",
  "gemini-contents",
];
const MODELS = ["gpt-4", "gpt-4o", "claude-opus-4-8", "gemini-2.5-pro", "glm-5"];
const anyText = fc.oneof(fc.string({ unit: "binary", maxLength: 80 }), fc.string({ unit: "grapheme", maxLength: 80 }));
const anyJson = fc.jsonValue({ maxDepth: 5, stringUnit: "binary" });
/** Bodies that are nearly right: the members that are read, with anything in them. */
const NAMES = (
  "messages content role name type text tools function parameters properties input contents parts system items enum " +
  "image_url url detail input_audio data format tool_calls arguments response_format json_schema inlineData mimeType source"
).split(" ");
const nearly = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    anyText,
    fc.constantFrom("text", "image_url", "input_audio", "function", "object", "string", "array", "base64", "image/png"),
    fc.integer(),
    fc.constant(null),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...NAMES), tie("value"), { maxKeys: 5 }),
  ),
})).value;

describe("bounds", () => {
  it("are never below the count, and never fail, for any JSON", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...SHAPES),
        fc.constantFrom(...MODELS),
        fc.oneof(fc.dictionary(fc.constantFrom(...NAMES), nearly), nearly, anyJson),
        (shape, model, body) => {
          const { prompt, count, bound } = read(shape, model, body);
          expect(Number.isSafeInteger(bound)).toBe(true);
          expect(bound).toBeGreaterThanOrEqual(count);
          expect(Number.isSafeInteger(guessOf(prompt))).toBe(true);
        },
      ),
      { numRuns: 1500 },
    );
  });

  it("are not below the count of a normalised text either", () => {
    fc.assert(
      fc.property(anyText, fc.constantFrom("NFC", "NFKC"), (text, form) => {
        const o200k = inline.get("o200k_base");
        const bytes = textBytes(text, form === "NFC" ? "nfc" : "nfkc");
        expect(bytes).toBeGreaterThanOrEqual(o200k?.count(text.normalize(form)).tokens ?? Infinity);
        expect(bytes).toBeGreaterThanOrEqual(o200k?.count(text).tokens ?? Infinity);
      }),
    );
    expect(textBytes("\uFDFA", "none")).toBe(3);
    expect(textBytes("\uFDFA", "nfkc")).toBe(33);
    expect(textBytes("\uD800", "none")).toBe(3);
  });

  it("of JSON nested deeper than the stack are the model's context", () => {
    const deep = JSON.parse(`${"[".repeat(100_000)}${"]".repeat(100_000)}`) as unknown;
    for (const body of [{ input: deep }, { messages: [{ role: "user", content: { a: deep } }], tools: [deep] }]) {
      for (const shape of SHAPES) expect(read(shape, "gpt-4o", body, 128_000).bound).toBeLessThanOrEqual(128_000);
    }
    expect(read("openai-embedding", "gpt-4o", { input: deep }).bound).toBe(LARGEST_CONTEXT_TOKENS);
  });

  it("of tools hold for schemas that the rendering would shorten", () => {
    const parameters = { type: "object", properties: { a: { anyOf: [{ type: "string", pattern: "x".repeat(500) }] } } };
    const body = {
      messages: [{ role: "user", content: "hi" }],
      tools: [{ type: "function", function: { name: "f", parameters } }],
    };
    expect(read("openai-chat", "gpt-4o", body).prompt.texts.join("")).toContain("x".repeat(500));
  });
});
