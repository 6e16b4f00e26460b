import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isDenial } from "@/lib/domain/denial";
import { anthropicRequest } from "./anthropic-request";
import { openAiRequest } from "./openai-request";
import { chatRequests } from "./testing/conversations";
import type { Json } from "./untranslatable";

function there(body: unknown, maxTokens: number | null = null): Json {
  const request = anthropicRequest(body, maxTokens);
  if (isDenial(request)) throw new Error(request.detail);
  return request;
}

function back(body: unknown): Json {
  const request = openAiRequest(body, "max_completion_tokens");
  if (isDenial(request)) throw new Error(request.detail);
  return request;
}

const user = { role: "user", content: "x" };
const chat = { model: "claude", max_tokens: 10, messages: [user] };
const message = { model: "gpt", max_tokens: 10, messages: [user] };
const call = { id: "c1", type: "function", function: { name: "f", arguments: '{"a":1}' } };

describe("a request that both shapes have", () => {
  it("is itself again after a translation there and back, from either side", () => {
    fc.assert(
      fc.property(chatRequests, (request) => {
        const translated = there(request);
        expect(back(translated)).toEqual(request);
        expect(there(back(translated))).toEqual(translated);
      }),
      { numRuns: 500 },
    );
  });

  it("is this, for a conversation with a picture and a tool", () => {
    const picture = { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=", detail: "auto" } };
    const request = {
      model: "claude",
      messages: [
        { role: "developer", content: "Be brief." },
        { role: "user", content: [{ type: "text", text: "What is this?" }, picture] },
        { role: "assistant", content: "Let me see.", tool_calls: [call, { ...call, id: "c2" }] },
        { role: "tool", tool_call_id: "c1", content: "1" },
        { role: "tool", tool_call_id: "c2", content: "" },
        user,
      ],
      tools: [{ type: "function", function: { name: "f" } }],
      tool_choice: "required",
      parallel_tool_calls: false,
      stop: "END",
      n: 1,
      user: "u1",
      temperature: null,
    };
    expect(there(request, 500)).toEqual({
      model: "claude",
      system: "Be brief.",
      max_tokens: 500,
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "What is this?" },
            { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" } },
          ],
        },
        {
          role: "assistant",
          content: [
            { type: "text", text: "Let me see." },
            { type: "tool_use", id: "c1", name: "f", input: { a: 1 } },
            { type: "tool_use", id: "c2", name: "f", input: { a: 1 } },
          ],
        },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "c1", content: "1" },
            { type: "tool_result", tool_use_id: "c2", content: "" },
          ],
        },
        user,
      ],
      tools: [{ name: "f", input_schema: { type: "object", properties: {} } }],
      tool_choice: { type: "any", disable_parallel_tool_use: true },
      stop_sequences: ["END"],
      metadata: { user_id: "u1" },
    });
  });

  it("keeps several system messages, and results of tools with text after them, in order", () => {
    const system = [
      { role: "system", content: "a" },
      { role: "developer", content: [{ type: "text", text: "b" }] },
    ];
    expect(there({ ...chat, messages: [...system, user] }).system).toEqual([
      { type: "text", text: "a" },
      { type: "text", text: "b" },
    ]);
    const mixed = [
      { role: "assistant", content: [{ type: "tool_use", id: "t", name: "f", input: {} }] },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "t", content: "1" },
          { type: "text", text: "and?" },
        ],
      },
    ];
    expect(back({ ...message, messages: mixed }).messages).toMatchObject([
      { role: "assistant", content: null },
      { role: "tool", tool_call_id: "t", content: "1" },
      { role: "user", content: [{ type: "text", text: "and?" }] },
    ]);
  });

  it("loses marks for the cache, which change no answer", () => {
    const marked = {
      ...message,
      system: [{ type: "text", text: "s", cache_control: { type: "ephemeral", ttl: "1h" } }],
    };
    expect(back(marked).messages).toMatchObject([{ role: "system", content: [{ type: "text", text: "s" }] }, user]);
    expect(there({ ...chat, prompt_cache_key: "k" })).toEqual(there(chat));
  });
});

const part = (value: object) => ({ ...chat, messages: [{ role: "user", content: [value] }] });
const assistant = (value: object) => ({ ...chat, messages: [{ role: "assistant", ...value }, user] });

describe("what Anthropic has no exact counterpart for", () => {
  it.each<[string, object]>([
    ["n", { ...chat, n: 2 }],
    ["logprobs", { ...chat, logprobs: true }],
    ["logit_bias", { ...chat, logit_bias: { 5: 1 } }],
    ["seed", { ...chat, seed: 1 }],
    ["presence_penalty", { ...chat, presence_penalty: 0.5 }],
    ["frequency_penalty", { ...chat, frequency_penalty: -1 }],
    ["response_format", { ...chat, response_format: { type: "json_schema", json_schema: {} } }],
    ["response_format", { ...chat, response_format: { type: "json_object" } }],
    ["modalities", { ...chat, modalities: ["text", "audio"] }],
    ["audio", { ...chat, audio: { voice: "a", format: "mp3" } }],
    ["prediction", { ...chat, prediction: { type: "content", content: "x" } }],
    ["reasoning_effort", { ...chat, reasoning_effort: "high" }],
    ["service_tier", { ...chat, service_tier: "priority" }],
    ["web_search_options", { ...chat, web_search_options: {} }],
    ["functions", { ...chat, functions: [] }],
    ["something_new", { ...chat, something_new: 1 }],
    ["temperature", { ...chat, temperature: 1.5 }],
    ["max_tokens", { ...chat, max_completion_tokens: 11 }],
    ["stop[0]", { ...chat, stop: ["\n"] }],
    ["tools[0].type", { ...chat, tools: [{ type: "custom", custom: { name: "x" } }] }],
    [
      "tools[0].function.parameters.type",
      { ...chat, tools: [{ type: "function", function: { name: "f", parameters: {} } }] },
    ],
    ["tool_choice.type", { ...chat, tool_choice: { type: "allowed_tools" } }],
    ["messages[0].content[0].type", part({ type: "input_audio", input_audio: {} })],
    ["messages[0].content[0].type", part({ type: "file", file: {} })],
    [
      "messages[0].content[0].image_url.detail",
      part({ type: "image_url", image_url: { url: "https://a/b", detail: "low" } }),
    ],
    ["messages[0].content[0].image_url.url", part({ type: "image_url", image_url: { url: "http://a/b" } })],
    [
      "messages[0].content[0].image_url.url",
      part({ type: "image_url", image_url: { url: "data:image/bmp;base64,AA==" } }),
    ],
    ["messages[0].content", { ...chat, messages: [{ role: "user", content: "" }] }],
    ["messages[0].name", { ...chat, messages: [{ ...user, name: "Ann" }] }],
    ["messages[0].audio", assistant({ content: "x", audio: { id: "a" } })],
    ["messages[0].refusal", assistant({ content: "x", refusal: "no" })],
    ["messages[1].role", { ...chat, messages: [user, { role: "system", content: "late" }, user] }],
    ["messages", { ...chat, messages: [user, { role: "assistant", content: "I" }] }],
    ["messages", { ...chat, messages: [] }],
    [
      "messages[0].tool_calls[0].function.arguments",
      assistant({ tool_calls: [{ ...call, function: { name: "f", arguments: "{" } }] }),
    ],
    [
      "messages[0].tool_calls[0].function.arguments",
      assistant({ tool_calls: [{ ...call, function: { name: "f", arguments: '{"id":9007199254740993}' } }] }),
    ],
  ])("is refused by its name: %s in %j", (param, body) => {
    const refusal = anthropicRequest(body, null);
    expect(refusal).toMatchObject({ kind: "denial", code: "invalid_request", param });
    expect(isDenial(refusal) && refusal.detail?.startsWith(param)).toBe(true);
  });
});

const block = (value: object) => ({ ...message, messages: [{ role: "user", content: [value] }] });

describe("what OpenAI has no exact counterpart for", () => {
  it.each<[string, object]>([
    ["top_k", { ...message, top_k: 5 }],
    ["thinking", { ...message, thinking: { type: "enabled", budget_tokens: 1024 } }],
    ["container", { ...message, container: "c" }],
    ["output_config", { ...message, output_config: { effort: "high" } }],
    ["service_tier", { ...message, service_tier: "standard_only" }],
    ["speed", { ...message, speed: "fast" }],
    ["max_tokens", { ...message, max_tokens: 0 }],
    ["stop_sequences", { ...message, stop_sequences: ["a", "b", "c", "d", "e"] }],
    ["metadata.other", { ...message, metadata: { other: 1 } }],
    ["tools[0].type", { ...message, tools: [{ type: "web_search_20250305", name: "web_search" }] }],
    ["messages[0].content[0].type", block({ type: "document", source: {} })],
    ["messages[0].content[0].source", block({ type: "image", source: { type: "file", file_id: "f" } })],
    ["messages[0].content[0].citations", block({ type: "text", text: "x", citations: [{}] })],
    ["messages[0].content[0].is_error", block({ type: "tool_result", tool_use_id: "t", content: "x", is_error: true })],
    [
      "messages[0].content[0].content[0].type",
      block({
        type: "tool_result",
        tool_use_id: "t",
        content: [{ type: "image", source: { type: "url", url: "https://a" } }],
      }),
    ],
    [
      "messages[0].content[0].type",
      {
        ...message,
        messages: [{ role: "assistant", content: [{ type: "thinking", thinking: "x", signature: "s" }] }, user],
      },
    ],
    [
      "messages[0].content[1]",
      {
        ...message,
        messages: [
          {
            role: "assistant",
            content: [
              { type: "tool_use", id: "t", name: "f", input: {} },
              { type: "text", text: "x" },
            ],
          },
          user,
        ],
      },
    ],
    ["messages", { ...message, messages: [user, { role: "assistant", content: "{" }] }],
    ["messages[0].role", { ...message, messages: [{ role: "system", content: "x" }, user] }],
  ])("is refused by its name: %s in %j", (param, body) => {
    expect(openAiRequest(body, "max_tokens")).toMatchObject({ kind: "denial", code: "invalid_request", param });
  });
});
