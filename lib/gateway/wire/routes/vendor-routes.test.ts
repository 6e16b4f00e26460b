import { describe, expect, it } from "vitest";
import { isDenial } from "@/lib/domain/denial";
import { patchJson } from "../json-scan";
import { isFormRequest } from "./route-request";
import { routeAt } from "./route-table";
import { jsonPatches } from "./upstream-patches";

const encoder = new TextEncoder();

function read(path: string, body: unknown, query = "") {
  const parse = routeAt(path, query)?.parseJson;
  if (!parse) throw new Error(`${path} takes no JSON`);
  return parse(encoder.encode(JSON.stringify(body)));
}

function parsed(path: string, body: unknown, query = "") {
  const request = read(path, body, query);
  if (isDenial(request)) throw new Error(request.detail);
  return request;
}

const message = { model: "claude-sonnet-4-5", max_tokens: 100, messages: [{ role: "user", content: "hello" }] };
const gemini = { contents: [{ role: "user", parts: [{ text: "hello" }] }] };
const GENERATE = "models/gemini-2.5-flash:generateContent";
const STREAM = "models/gemini-2.5-flash:streamGenerateContent";

describe("Anthropic messages", () => {
  it("must state max_tokens, and bill what they say", () => {
    expect(read("messages", { ...message, max_tokens: undefined })).toMatchObject({ param: "max_tokens" });
    expect(parsed("messages", { ...message, metadata: { user_id: "u1" }, stream: true })).toMatchObject({
      outputCap: 100,
      isStream: true,
      endUser: "u1",
      kind: "messages",
    });
  });

  it("say the longest cache life any block asks for", () => {
    const block = (ttl?: string) => ({
      type: "text",
      text: "x",
      cache_control: { type: "ephemeral", ...(ttl ? { ttl } : {}) },
    });
    expect(parsed("messages", message).extras.cacheWriteTtl).toBeNull();
    expect(parsed("messages", { ...message, system: [block()] }).extras.cacheWriteTtl).toBe("5m");
    const nested = [{ role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: [block("1h")] }] }];
    expect(parsed("messages", { ...message, system: [block("5m")], messages: nested }).extras.cacheWriteTtl).toBe("1h");
    expect(read("messages", { ...message, system: [block("2h")] })).toMatchObject({ param: "cache_control.ttl" });
  });

  it("name server tools with their caps, tiers, speed and region, and hold for the context they may fill", () => {
    const tools = [
      { name: "mine", input_schema: { type: "object" } },
      { type: "web_search_20250305", name: "web_search", max_uses: 5 },
    ];
    const { extras } = parsed("messages", {
      ...message,
      tools,
      service_tier: "auto",
      speed: "fast",
      inference_geo: "us",
    });
    expect(extras).toMatchObject({
      toolFees: [{ tool: "web_search_20250305", maxCalls: 5, size: null }],
      isContextUnbounded: true,
      serviceTier: "auto",
      speed: "fast",
      region: "us",
    });
    expect(parsed("messages", { ...message, tools: tools.slice(0, 1) }).extras.isContextUnbounded).toBe(false);
    const stored = [{ role: "user", content: [{ type: "image", source: { type: "file", file_id: "f" } }] }];
    expect(parsed("messages", { ...message, messages: stored }).extras.isContextUnbounded).toBe(true);
  });

  it("are counted for nothing by count_tokens", () => {
    const { max_tokens: _cap, ...rest } = message;
    expect(parsed("messages/count_tokens", rest)).toMatchObject({ outputCap: 0, inputBound: 0, kind: "count_tokens" });
  });

  it.each([
    [{ ...message, max_tokens: "100" }, "max_tokens"],
    [{ ...message, messages: [{ role: "user", content: 5 }] }, "messages[0].content"],
    [{ ...message, system: 5 }, "system"],
    [{ ...message, thinking: { type: "enabled", budget_tokens: -1 } }, "thinking.budget_tokens"],
    [{ ...message, tools: [{ type: "web_search_20250305", max_uses: 1.5 }] }, "tools[0].max_uses"],
  ])("with a wrong field (%j) are refused by its name: %s", (body, param) => {
    const said = read("messages", body);
    expect(said).toMatchObject({ code: "invalid_request", param });
  });
});

describe("Gemini", () => {
  it("takes model and streaming from the path, caps and candidates from the configuration", () => {
    const config = { maxOutputTokens: 64, candidateCount: 2 };
    expect(parsed(STREAM, { ...gemini, generationConfig: config }, "alt=sse")).toMatchObject({
      model: "gemini-2.5-flash",
      isStream: true,
      outputCap: 64,
      choices: 2,
    });
    expect(parsed(STREAM, gemini).isStream).toBe(false);
    expect(parsed(GENERATE, gemini)).toMatchObject({ isStream: false, outputCap: null });
  });

  it("reads both spellings and refuses a member given in both", () => {
    expect(parsed(GENERATE, { ...gemini, generation_config: { max_output_tokens: 9 } }).outputCap).toBe(9);
    const both = { ...gemini, generation_config: { max_output_tokens: 9 }, generationConfig: { maxOutputTokens: 1 } };
    expect(read(GENERATE, both)).toMatchObject({ param: "generationConfig" });
  });

  it("holds for the context where stored content, files or its own tools come in", () => {
    expect(parsed(GENERATE, { ...gemini, cachedContent: "cachedContents/1" }).extras.isContextUnbounded).toBe(true);
    expect(parsed(GENERATE, { ...gemini, tools: [{ googleSearch: {} }] }).extras.toolFees).toEqual([
      { tool: "google_search", maxCalls: null, size: null },
    ]);
    const file = { contents: [{ parts: [{ file_data: { file_uri: "x" } }] }] };
    expect(parsed(GENERATE, file).extras.isContextUnbounded).toBe(true);
  });

  it("refuses numbers as texts, which the server would take, and another model in the body", () => {
    expect(read(GENERATE, { ...gemini, generationConfig: { maxOutputTokens: "64" } })).toMatchObject({
      param: "generationConfig.maxOutputTokens",
    });
    expect(read(GENERATE, { ...gemini, model: "models/gemini-2.5-pro" })).toMatchObject({ param: "model" });
  });

  it("is no route with another action", () => {
    expect(routeAt("models/gemini-2.5-flash:embedContent", "")).toBeUndefined();
    expect(routeAt("__proto__", "")).toBeUndefined();
  });
});

describe("what goes upstream", () => {
  const facts = { upstreamModel: "m", writtenCap: null, providerKind: "vllm" };
  const sent = (path: string, body: unknown, more: object, query = "") => {
    const request = parsed(path, body, query);
    if (isFormRequest(request)) throw new Error("a form");
    return JSON.parse(patchJson(request.text, request.scan, jsonPatches(request, { ...facts, ...more }))) as unknown;
  };
  const chat = { model: "m", messages: [{ role: "user", content: "x" }] };

  it("is the body as it came where nothing has to change", () => {
    expect(sent("chat/completions", chat, {})).toEqual(chat);
  });

  it("has the model and the cap under the route's own name", () => {
    const renamed = { upstreamModel: "up", writtenCap: 5, providerKind: "openai" };
    expect(sent("chat/completions", chat, renamed)).toMatchObject({ model: "up", max_completion_tokens: 5 });
    expect(sent("chat/completions", chat, { ...renamed, providerKind: "deepseek" })).toMatchObject({ max_tokens: 5 });
    expect(sent("responses", { model: "m", input: "x" }, renamed)).toMatchObject({ max_output_tokens: 5 });
    expect(sent(GENERATE, { ...gemini, generationConfig: { topK: 1 } }, renamed)).toEqual({
      ...gemini,
      generationConfig: { topK: 1, maxOutputTokens: 5 },
    });
    expect(sent(GENERATE, gemini, renamed)).toMatchObject({ generationConfig: { maxOutputTokens: 5 } });
  });

  it("asks for usage and keeps the other stream options", () => {
    const streamed = { ...chat, stream: true, stream_options: { include_obfuscation: false } };
    expect(sent("chat/completions", streamed, { providerKind: "openai" })).toMatchObject({
      stream_options: { include_obfuscation: false, include_usage: true },
    });
    expect(sent("completions", { model: "m", prompt: "x", stream: true, stream_options: null }, {})).toMatchObject({
      stream_options: { include_usage: true, continuous_usage_stats: true },
    });
  });
});
