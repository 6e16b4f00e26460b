/** What is read and priced is what a server does: no other spelling, word or nest of it gets by. */
import { describe, expect, it } from "vitest";
import type { Denial } from "@/lib/domain/denial";
import { unpricedTool } from "@/lib/gateway/stages/units";
import { parseOpenAiRequest } from "../openai-request";
import { parseMessages } from "./anthropic-messages";
import { parseGemini } from "./gemini-generate";
import { passthroughRoute } from "./governed-routes";
import { parseResponses } from "./openai-chat";
import type { JsonRequest } from "./route-request";
import { jsonPatches, needsOlderCap } from "./upstream-patches";

const encoder = new TextEncoder();
const CHAT = { model: "m", messages: [{ role: "user", content: "hi" }] };

function bytesOf(body: unknown): Uint8Array {
  return encoder.encode(JSON.stringify(body));
}

function chat(more: object): JsonRequest | Denial {
  return parseOpenAiRequest(bytesOf({ ...CHAT, ...more }), "chat");
}

function served(result: JsonRequest | Denial): JsonRequest {
  if (result.kind === "denial") throw new Error(result.detail);
  return result;
}

describe("a member that is read in another spelling", () => {
  it.each(["Model", "MAX_TOKENS", "Max_Completion_Tokens", "N", "\u017ftream", "max_to\u212aens", "Messages", "Tools"])(
    "%s is refused: servers written in Go take it for the member itself",
    (name) => {
      expect(chat({ max_tokens: 1, [name]: 100_000 })).toMatchObject({ kind: "denial", param: name });
    },
  );

  it("is refused on the other routes, too", () => {
    const messages = { ...CHAT, max_tokens: 1, Max_Tokens: 9 };
    expect(parseMessages(bytesOf(messages))).toMatchObject({ kind: "denial", param: "Max_Tokens" });
    expect(parseResponses(bytesOf({ model: "m", input: "x", Model: "n" }))).toMatchObject({ param: "Model" });
  });

  it("is none where a vendor has two of its own", () => {
    const path = { model: "m", action: "generateContent", isSse: false } as const;
    const contents = [{ role: "user", parts: [{ text: "x" }] }];
    for (const config of ["generationConfig", "generation_config"]) {
      const body = { contents, [config]: { maxOutputTokens: 5 }, systemInstruction: {}, safetySettings: [] };
      expect(served(parseGemini(bytesOf(body), path)).outputCap).toBe(5);
    }
  });
});

describe("another word for what is held", () => {
  it.each([
    [{ n_predict: -1 }, "n_predict"],
    [{ max_new_tokens: 9 }, "max_new_tokens"],
    [{ num_return_sequences: 9 }, "num_return_sequences"],
    [{ n_cmpl: 9 }, "n_cmpl"],
    [{ models: ["dear"] }, "models"],
    [{ fallbacks: ["dear"] }, "fallbacks"],
    [{ extra_body: { max_tokens: 9 } }, "extra_body.max_tokens"],
    [{ extra_body: { google: { cached_content: "cachedContents/1" } } }, "extra_body.google.cached_content"],
  ])("%j is refused", (more, param) => {
    expect(chat({ max_tokens: 1, ...more })).toMatchObject({ kind: "denial", param });
  });

  it.each([
    [{ fallbacks: null }],
    [{ extra_body: { google: { thinking_config: { thinking_budget: 5 } } } }],
    [{ enable_thinking: true, chat_template_kwargs: { model_identity: "x" }, min_p: 0.1 }],
  ])("%j passes", (more) => {
    expect(served(chat(more)).model).toBe("m");
  });

  it("may be said where the call is priced by the call", () => {
    const parse = passthroughRoute("ocr").parseJson;
    expect(parse?.(bytesOf({ models: ["a"], Model: "b" }))).toMatchObject({ kind: "passthrough" });
  });

  it("is counted where servers make more than is asked for", () => {
    expect(served(chat({ n: 2, best_of: 5 })).choices).toBe(5);
    expect(served(chat({ n: 2, best_of: null })).choices).toBe(2);
  });
});

describe("what a provider does beside a chat", () => {
  it.each([
    [{ tools: [{ type: "builtin_function", function: { name: "$web_search" } }] }, "builtin_function"],
    [{ tools: [{ type: "retrieval", retrieval: {} }] }, "retrieval"],
    [{ search_parameters: { mode: "on" } }, "live_search"],
    [{ plugins: [{ id: "web" }] }, "web"],
  ])("%j has no price and is not sold", (more, tool) => {
    expect(unpricedTool(served(chat(more)))).toMatchObject({
      code: "price_missing",
      detail: `the tool ${tool} has no price`,
    });
  });

  it.each([[{ enable_search: true }], [{ tools: [{ type: "web_search", web_search: { enable: true } }] }]])(
    "%j is held as a search",
    (more) => {
      const { extras } = served(chat(more));
      expect(extras.toolFees).toEqual([{ tool: "web_search", maxCalls: null, size: "medium" }]);
      expect(extras.isContextUnbounded).toBe(true);
    },
  );

  it.each([
    [{ tools: [{ type: "function", function: { name: "f" } }] }],
    [{ tools: [{ function: { name: "f" } }] }],
    [{ tools: null, enable_search: false, search_parameters: { mode: "off" }, plugins: [] }],
  ])("%j is the caller's own matter", (more) => {
    expect(served(chat(more)).extras.toolFees).toEqual([]);
  });

  it("may be a dearer model that a tool of Anthropic's asks", () => {
    const tools = [{ type: "advisor_20260301", name: "advisor", model: "claude-opus-4-6" }];
    expect(unpricedTool(served(parseMessages(bytesOf({ ...CHAT, max_tokens: 5, tools }))))).toMatchObject({
      code: "price_missing",
    });
    const own = [
      { name: "f", input_schema: {} },
      ...["bash_20250124", "memory_20250818"].map((type) => ({ type, name: "t" })),
    ];
    expect(served(parseMessages(bytesOf({ ...CHAT, max_tokens: 5, tools: own }))).extras.toolFees).toEqual([]);
  });

  it("is bounded by the context where an answer before is named by its id", () => {
    const said = { role: "assistant", audio: { id: "audio_1" } };
    expect(served(chat({ messages: [...CHAT.messages, said] })).extras.isContextUnbounded).toBe(true);
    const silent = { role: "assistant", content: "x", audio: null };
    expect(served(chat({ messages: [...CHAT.messages, silent] })).extras.isContextUnbounded).toBe(false);
  });
});

describe("a cap in the newer word alone", () => {
  const patchesOf = (more: object, providerKind: string) =>
    jsonPatches(served(chat(more)), { upstreamModel: "m", writtenCap: null, providerKind });

  it.each(["ollama", "openai-compatible", "deepseek", "zhipu"])("is said in the older one to %s", (kind) => {
    const said = { max_tokens: "7", max_completion_tokens: "null" };
    expect(patchesOf({ max_completion_tokens: 7 }, kind)).toEqual(said);
    expect(patchesOf({ max_completion_tokens: 7, max_tokens: null }, kind)).toEqual(said);
    expect(needsOlderCap(served(chat({ max_completion_tokens: 7 })), kind)).toBe(true);
  });

  it.each(["openai", "azure", "gemini", "ark", "vllm"])("stays as it is for %s, which knows it", (kind) => {
    expect(patchesOf({ max_completion_tokens: 7 }, kind)).toEqual({});
  });

  it("stays as it is beside the older one", () => {
    expect(patchesOf({ max_completion_tokens: 7, max_tokens: 9 }, "ollama")).toEqual({});
    expect(patchesOf({ max_tokens: 9 }, "ollama")).toEqual({});
  });
});
