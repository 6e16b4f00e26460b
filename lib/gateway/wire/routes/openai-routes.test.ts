import { describe, expect, it } from "vitest";
import { isDenial } from "@/lib/domain/denial";
import { parseOpenAiRequest } from "../openai-request";
import { routeAt } from "./route-table";

const encoder = new TextEncoder();

function read(route: string, body: unknown) {
  const parse = routeAt(route, "")?.parseJson;
  if (!parse) throw new Error(`${route} takes no JSON`);
  return parse(encoder.encode(typeof body === "string" ? body : JSON.stringify(body)));
}

function parsed(route: string, body: unknown) {
  const request = read(route, body);
  if (isDenial(request)) throw new Error(request.detail);
  return request;
}

function refusal(route: string, body: unknown) {
  const request = read(route, body);
  if (!isDenial(request)) throw new Error("was taken");
  return { param: request.param, detail: request.detail };
}

const chat = { model: "m", messages: [{ role: "user", content: "hello" }] };

describe("chat", () => {
  it("is read as the pipeline has read it so far", () => {
    const body = { ...chat, n: 3, max_tokens: 10, stream: true, user: "u", prediction: { content: "abc" } };
    const before = parseOpenAiRequest(encoder.encode(JSON.stringify(body)), "chat");
    const now = parsed("chat/completions", body);
    if (isDenial(before)) throw new Error("refused");
    const { inputGuess, ...rest } = before;
    expect(now).toMatchObject(rest);
    expect(now.inputGuess()).toBe(inputGuess());
  });

  it("says what is billed beside text: search, documents, audio, tier", () => {
    const { extras } = parsed("chat/completions", {
      ...chat,
      web_search_options: {},
      modalities: ["text", "audio"],
      service_tier: "priority",
    });
    expect(extras).toMatchObject({
      toolFees: [{ tool: "web_search", maxCalls: null, size: "medium" }],
      hasAudioOutput: true,
      serviceTier: "priority",
      isContextUnbounded: true,
    });
    const file = { type: "file", file: { file_id: "file-1" } };
    expect(parsed("chat/completions", { ...chat, messages: [{ content: [file] }] }).extras.isContextUnbounded).toBe(
      true,
    );
    expect(parsed("chat/completions", chat).extras.isContextUnbounded).toBe(false);
  });
});

describe("completions", () => {
  it("bill 16 tokens by default, and every candidate of every prompt", () => {
    expect(parsed("completions", { model: "m", prompt: "a" })).toMatchObject({ outputCap: 16, choices: 1 });
    expect(parsed("completions", { model: "m", prompt: ["a", "b"], n: 2, best_of: 5, max_tokens: 7 })).toMatchObject({
      outputCap: 7,
      choices: 10,
    });
    const ids = parsed("completions", { model: "m", prompt: [[1, 2], [3]] });
    expect(ids.choices).toBe(2);
    expect(ids.inputGuess()).toBe(3);
  });

  it("refuse fewer candidates than choices, and prompts that are neither text nor token ids", () => {
    expect(refusal("completions", { model: "m", prompt: "a", n: 3, best_of: 2 }).param).toBe("best_of");
    expect(refusal("completions", { model: "m", prompt: [1, "a"] }).param).toBe("prompt");
  });
});

describe("responses", () => {
  it("cap their output by max_output_tokens and hold for the whole context where earlier turns are stored", () => {
    const plain = parsed("responses", { model: "m", input: "hi", max_output_tokens: 50 });
    expect(plain).toMatchObject({ outputCap: 50, kind: "responses", extras: { isContextUnbounded: false } });
    for (const more of [{ previous_response_id: "resp_1" }, { conversation: "conv_1" }, { prompt: { id: "pmpt_1" } }])
      expect(parsed("responses", { model: "m", input: "hi", ...more }).extras.isContextUnbounded).toBe(true);
    const reference = [{ type: "item_reference", id: "msg_1" }];
    expect(parsed("responses", { model: "m", input: reference }).extras.isContextUnbounded).toBe(true);
  });

  it("count pictures also where they are results of calls, and thoughts by their bytes", () => {
    const input = [
      { type: "reasoning", encrypted_content: "abc" },
      { type: "function_call", call_id: "c", name: "f", arguments: "{}" },
      { type: "function_call_output", call_id: "c", output: [{ type: "input_image", image_url: "https://a/b" }] },
      { type: "computer_call_output", call_id: "d", output: { type: "computer_screenshot", image_url: "https://a/b" } },
    ];
    const { inputBound } = parsed("responses", { model: "m", input });
    expect(Math.floor(inputBound / 50_000)).toBe(2);
  });

  it("name the fees of tools that run at the provider, and none for functions", () => {
    const tools = [{ type: "function", name: "f" }, { type: "web_search" }, { type: "code_interpreter" }];
    const { extras } = parsed("responses", { model: "m", input: "hi", tools, max_tool_calls: 3, background: true });
    expect(extras.toolFees).toEqual([
      { tool: "web_search", maxCalls: 3, size: "medium" },
      { tool: "code_interpreter", maxCalls: 3, size: null },
    ]);
    expect(extras.isBackground).toBe(true);
    expect(parsed("responses", { model: "m", input: "hi", tools: tools.slice(0, 1) }).extras.toolFees).toEqual([]);
  });
});

describe("pictures, speech, rerank, embeddings and moderations", () => {
  it("hold output tokens by quality and size for each picture", () => {
    const low = parsed("images/generations", { model: "gpt-image-1", prompt: "a cat", n: 2, quality: "low" });
    expect(low).toMatchObject({ outputCap: 408, choices: 2, extras: { images: { count: 2, quality: "low" } } });
    const unsaid = parsed("images/generations", { model: "gpt-image-1", prompt: "a cat", partial_images: 3 });
    expect(unsaid.outputCap).toBe(6540);
    const large = parsed("images/generations", { model: "m", prompt: "a cat", quality: "low", size: "2048x2048" });
    expect(large.outputCap).toBe(408 * 3);
  });

  it("count characters of speech as code points: a face is one", () => {
    expect(parsed("audio/speech", { model: "tts-1", input: "你好 🙂" }).extras.characters).toBe(4);
    expect(parsed("audio/speech", { model: "m", input: "a", stream_format: "sse" }).isStream).toBe(true);
  });

  it("count rerank documents and their search units", () => {
    const documents = Array.from({ length: 101 }, (_, index) => `document ${index}`);
    expect(parsed("rerank", { model: "m", query: "q", documents }).extras).toMatchObject({
      documents: 101,
      searchUnits: 2,
    });
  });

  it("take lists of texts and of token ids for embeddings", () => {
    expect(parsed("embeddings", { model: "m", input: [[1, 2, 3]] }).inputGuess()).toBe(3);
  });

  it("know the model a moderation has by default", () => {
    expect(parsed("moderations", { input: "x" }).model).toBe("omni-moderation-latest");
  });
});

describe("a field of the wrong kind", () => {
  it.each([
    ["chat/completions", { ...chat, n: 0 }, "n"],
    ["chat/completions", { ...chat, n: "2" }, "n"],
    ["chat/completions", { ...chat, max_tokens: -1 }, "max_tokens"],
    ["chat/completions", { ...chat, max_tokens: 1.5 }, "max_tokens"],
    ["chat/completions", { ...chat, stream: "true" }, "stream"],
    ["chat/completions", { ...chat, stream_options: { include_usage: 1 } }, "stream_options.include_usage"],
    ["chat/completions", { ...chat, service_tier: 1 }, "service_tier"],
    ["chat/completions", { ...chat, modalities: "audio" }, "modalities"],
    ["chat/completions", { model: "m", messages: [] }, "messages"],
    ["chat/completions", { model: 7, messages: chat.messages }, "model"],
    ["chat/completions", { ...chat, user: 7 }, "user"],
    ["completions", { model: "m", prompt: "a", best_of: 21 }, "best_of"],
    ["responses", { model: "m", input: 1 }, "input"],
    ["responses", { model: "m", input: "a", max_output_tokens: 0 }, "max_output_tokens"],
    ["responses", { model: "m", input: "a", max_tool_calls: "1" }, "max_tool_calls"],
    ["responses", { model: "m", input: "a", tools: [{}] }, "tools[0].type"],
    ["responses", { model: "m", input: "a", background: "yes" }, "background"],
    ["images/generations", { model: "m", prompt: "a", n: 11 }, "n"],
    ["images/generations", { model: "m", prompt: "a", size: 5 }, "size"],
    ["audio/speech", { model: "m", input: "" }, "input"],
    ["moderations", { input: 5 }, "input"],
    ["rerank", { model: "m", query: "q", documents: [] }, "documents"],
    ["rerank", { model: "m", documents: ["d"] }, "query"],
    ["embeddings", { model: "m", input: [1, "a"] }, "input"],
  ])("of %s %j is refused by its name: %s", (route, body, param) => {
    const said = refusal(route, body);
    expect(said.param).toBe(param);
    expect(said.detail).toContain(param);
  });

  it("is a number no double holds", () => {
    const text = '{"model":"m","messages":[{"role":"user","content":"x"}],"max_tokens":1e309}';
    expect(refusal("chat/completions", text).param).toBe("max_tokens");
  });

  it("is a name that occurs twice, at any depth, and a body that is no object", () => {
    expect(refusal("responses", '{"model":"m","input":"a","max_output_tokens":16,"max_output_tokens":9}').param).toBe(
      "max_output_tokens",
    );
    expect(refusal("messages", '{"model":"m","metadata":{"a":1,"a":2}}').param).toBe("a");
    expect(refusal("responses", "[]").detail).toContain("object");
    expect(refusal("responses", "{").detail).toContain("JSON");
  });
});
