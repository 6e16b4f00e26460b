import { describe, expect, it } from "vitest";
import { familyOf } from "./families";

const idOf = (model: string, providerKind: string | null = null) => familyOf(model, providerKind).id;

describe("the tokenizer of a model", () => {
  it.each([
    ["gpt2", "gpt2"],
    ["text-davinci-edit-001", "p50k_edit"],
    ["text-davinci-003", "p50k"],
    ["code-davinci-002", "p50k"],
    ["text-davinci-001", "r50k"],
    ["davinci", "r50k"],
    ["davinci-002", "cl100k"],
    ["gpt-4", "cl100k"],
    ["gpt-4-turbo-2024-04-09", "cl100k"],
    ["gpt-3.5-turbo", "cl100k"],
    ["gpt-35-turbo", "cl100k"],
    ["text-embedding-3-small", "cl100k"],
    ["text-embedding-ada-002", "cl100k"],
    ["gpt-4o", "o200k"],
    ["gpt-4o-mini-2024-07-18", "o200k"],
    ["chatgpt-4o-latest", "o200k"],
    ["gpt-4.1-nano", "o200k"],
    ["gpt-5", "o200k"],
    ["gpt-5.4-mini", "o200k"],
    ["gpt-oss-120b", "o200k"],
    ["o1", "o200k"],
    ["o4-mini", "o200k"],
    ["openai/gpt-4o", "o200k"],
    ["ft:gpt-4o-mini-2024-07-18:acme::abc123", "o200k"],
    ["claude-3-5-sonnet-20241022", "claude"],
    ["claude-sonnet-4-20250514", "claude"],
    ["claude-opus-4-6", "claude"],
    ["claude-haiku-4-5-20251001", "claude"],
    ["us.anthropic.claude-sonnet-4-20250514-v1:0", "claude"],
    ["claude-opus-4-7", "claude-new"],
    ["claude-opus-4.8", "claude-new"],
    ["claude-sonnet-5", "claude-new"],
    ["claude-fable-5", "claude-new"],
    ["gemini-2.5-pro", "gemini"],
    ["models/gemini-3-flash", "gemini"],
    ["Qwen/Qwen3-32B", "qwen"],
    ["qwen2.5-72b-instruct", "qwen"],
    ["qwen3-coder-480b-a35b-instruct", "qwen"],
    ["qwen3:8b", "qwen"],
    ["qwen-plus", "qwen-hosted"],
    ["qwen3-max", "qwen-hosted"],
    ["qwen3.5-plus", "qwen-hosted"],
    ["qwen3.5-35b-a3b", "qwen-hosted"],
    ["deepseek-ai/DeepSeek-V3.1", "deepseek"],
    ["deepseek-r1", "deepseek"],
    ["deepseek-r1:671b", "deepseek"],
    ["deepseek-chat", "deepseek-hosted"],
    ["deepseek-v4-pro", "deepseek-hosted"],
    ["deepseek-r1:7b", "bytes"],
    ["deepseek-r1-distill-qwen-32b", "bytes"],
    ["glm-4.6", "glm"],
    ["kimi-k2-0905-preview", "kimi"],
    ["moonshot-v1-128k", "kimi"],
    ["doubao-seed-1-6", "doubao"],
    ["ernie-4.5-turbo-128k", "ernie"],
    ["llama-3.3-70b", "bytes"],
    ["gpt-6", "bytes"],
    ["my-gpt-4o", "bytes"],
    ["", "bytes"],
  ])("%s: %s", (model, id) => {
    expect(idOf(model)).toBe(id);
  });

  it("comes from the provider where a deployment has a name of its own", () => {
    expect(idOf("prod-assistant", "anthropic")).toBe("claude-new");
    expect(idOf("prod-assistant", "openai")).toBe("bytes");
  });

  it("is exact only where it is published", () => {
    const exact = ["gpt-4o", "gpt-4", "davinci", "qwen3-32b", "deepseek-v3"].map((model) => familyOf(model, null));
    expect(exact.map(({ marginPercent }) => marginPercent)).toEqual([100, 100, 100, 100, 100]);
    for (const model of [
      "claude-sonnet-4-5",
      "gemini-2.5-pro",
      "glm-5",
      "kimi-k3",
      "doubao-pro",
      "ernie-5",
      "qwen-max",
    ]) {
      expect(familyOf(model, null).marginPercent).toBeGreaterThan(100);
    }
  });

  it("is found for any number of names in bounded memory", () => {
    for (let index = 0; index < 5000; index += 1) familyOf(`gpt-4o-${String(index)}`, null);
    expect(idOf("gpt-4o-4999")).toBe("o200k");
  });
});
