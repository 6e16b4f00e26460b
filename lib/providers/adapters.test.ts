import { describe, expect, it } from "vitest";
import { PROVIDER_KINDS } from "@/lib/domain/provider-kinds";
import type { ProviderDocument } from "@/lib/domain/snapshot";
import { adapterOf, keyHeaderOf } from "./adapters";

function provider(kind: string, baseUrl: string): ProviderDocument {
  return { id: "v", kind, name: "v", baseUrl, secretBox: null, isExternal: true, disabled: false };
}

function path(kind: string, baseUrl: string, route: string, model = "m"): string | undefined {
  const document = provider(kind, baseUrl);
  return adapterOf(document).pathOf(document, route, model);
}

describe("where a route stands at a provider", () => {
  it.each([
    ["openai", "https://api.openai.com/v1", "/v1/chat/completions"],
    ["openai", "https://api.openai.com/v1/", "/v1/chat/completions"],
    ["azure", "https://r.openai.azure.com", "/openai/deployments/m/chat/completions?api-version=2024-10-21"],
    [
      "azure",
      "https://r/openai?api-version=2025-01-01",
      "/openai/deployments/m/chat/completions?api-version=2025-01-01",
    ],
    ["azure", "https://r.openai.azure.com/openai/v1", "/openai/v1/chat/completions"],
    ["gemini", "https://generativelanguage.googleapis.com", "/v1beta/openai/chat/completions"],
    ["deepseek", "https://api.deepseek.com", "/chat/completions"],
    ["dashscope", "https://dashscope.aliyuncs.com/compatible-mode/v1", "/compatible-mode/v1/chat/completions"],
    ["zhipu", "https://open.bigmodel.cn/api/paas/v4", "/api/paas/v4/chat/completions"],
    ["ark", "https://ark.cn-beijing.volces.com/api/v3", "/api/v3/chat/completions"],
    ["qianfan", "https://qianfan.baidubce.com/v2", "/v2/chat/completions"],
    ["vllm", "http://vllm.internal:8000/v1", "/v1/chat/completions"],
    ["somebody-new", "https://new.example/v1", "/v1/chat/completions"],
  ])("%s at %s: chat is %s", (kind, baseUrl, expected) => {
    expect(path(kind, baseUrl, "chat/completions")).toBe(expected);
  });

  it("files and batches belong to the account, whatever the model, where the vendor keeps any", () => {
    expect(path("openai", "https://api.openai.com/v1", "files/file-1/content")).toBe("/v1/files/file-1/content");
    expect(path("azure", "https://r.openai.azure.com", "batches")).toBe("/openai/batches?api-version=2024-10-21");
    expect(path("azure", "https://r/openai/v1", "batches/b/cancel")).toBe("/openai/v1/batches/b/cancel");
    expect(path("azure", "https://r.openai.azure.com", "responses/r/cancel")).toBe("/openai/v1/responses/r/cancel");
    expect(path("openai", "https://api.openai.com/v1", "responses/r")).toBe("/v1/responses/r");
    expect(path("deepseek", "https://api.deepseek.com", "responses/r")).toBeUndefined();
    expect(path("dashscope", "https://d/compatible-mode/v1", "files")).toBe("/compatible-mode/v1/files");
    for (const kind of ["anthropic", "gemini", "deepseek", "vllm", "ollama"]) {
      expect(path(kind, "https://a/v1", "files")).toBeUndefined();
      expect(path(kind, "https://a/v1", "batches")).toBeUndefined();
    }
  });

  it("Anthropic's and Google's own routes take their version, said in the base or not", () => {
    for (const base of ["https://api.anthropic.com", "https://api.anthropic.com/v1"]) {
      expect(path("anthropic", base, "messages")).toBe("/v1/messages");
      expect(path("anthropic", base, "messages/count_tokens")).toBe("/v1/messages/count_tokens");
    }
    const google = "https://generativelanguage.googleapis.com";
    for (const base of [google, `${google}/v1beta`]) {
      expect(path("gemini", base, "models/generateContent", "gemini-x")).toBe(
        "/v1beta/models/gemini-x:generateContent",
      );
    }
  });

  it("a name that could end the path stays a name", () => {
    expect(path("gemini", "https://g", "models/countTokens", "a/../b?c")).toBe(
      "/v1beta/models/a%2F..%2Fb%3Fc:countTokens",
    );
    expect(path("azure", "https://a", "embeddings", "x/y")).toContain("/deployments/x%2Fy/embeddings?");
  });

  it("a route that a provider does not serve has no path there", () => {
    expect(path("anthropic", "https://a", "chat/completions")).toBeUndefined();
    expect(path("anthropic", "https://a", "embeddings")).toBeUndefined();
    expect(path("openai", "https://o/v1", "messages")).toBeUndefined();
    expect(path("deepseek", "https://d", "embeddings")).toBeUndefined();
    expect(path("ollama", "http://o/v1", "models/generateContent")).toBeUndefined();
  });

  it("every kind that can be configured serves a conversation of some shape", () => {
    for (const kind of PROVIDER_KINDS) {
      const conversations = ["chat/completions", "messages"].map((route) => path(kind, "https://p/v1", route));
      expect([kind, conversations.some((found) => found !== undefined)]).toEqual([kind, true]);
    }
  });
});

describe("headers", () => {
  const passed = (route: string, headers: Readonly<Record<string, string>>) =>
    adapterOf(provider("sandbox", "http://s/v1")).passedHeaders(route, (name) => headers[name] ?? null);

  it("of a caller cross by name only, those of the route's own vendor", () => {
    const all = {
      cookie: "a=b",
      "x-forwarded-for": "1.2.3.4",
      "openai-beta": "assistants=v2",
      "anthropic-beta": "one,two",
      "anthropic-version": "2023-06-01",
    };
    expect(passed("chat/completions", all)).toEqual(["openai-beta", "assistants=v2"]);
    expect(passed("messages", all)).toEqual(["anthropic-version", "2023-06-01", "anthropic-beta", "one,two"]);
    expect(passed("models/generateContent", all)).toEqual([]);
  });

  it("Anthropic is always told a version", () => {
    expect(passed("messages", {})).toEqual(["anthropic-version", "2023-06-01"]);
    expect(passed("messages", { "anthropic-beta": "one" })).toEqual([
      ...["anthropic-beta", "one"],
      ...["anthropic-version", "2023-06-01"],
    ]);
  });

  it("a header that would end the line, or is named in Connection, stays behind", () => {
    expect(passed("chat/completions", { "openai-beta": "a\r\nx: y" })).toEqual([]);
    expect(passed("chat/completions", { "openai-beta": "a", connection: "openai-beta" })).toEqual([]);
  });

  it("the key goes where the vendor takes it", () => {
    expect(keyHeaderOf("openai", "/v1/chat/completions")).toEqual({ name: "authorization", scheme: "Bearer " });
    expect(keyHeaderOf("azure", "/openai/v1/x")).toEqual({ name: "api-key", scheme: "" });
    expect(keyHeaderOf("anthropic", "/v1/messages")).toEqual({ name: "x-api-key", scheme: "" });
    expect(keyHeaderOf("gemini", "/v1beta/models/x:generateContent")).toEqual({ name: "x-goog-api-key", scheme: "" });
    expect(keyHeaderOf("gemini", "/v1beta/openai/chat/completions").name).toBe("authorization");
  });
});
