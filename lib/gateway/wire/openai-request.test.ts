import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isDenial } from "@/lib/domain/denial";
import { parseOpenAiRequest } from "./openai-request";
import { readOpenAiUsage } from "./openai-usage";
import { utf8Length } from "./utf8-length";

const encoder = new TextEncoder();
const parse = (body: unknown, kind: "chat" | "embedding" = "chat") => {
  const parsed = parseOpenAiRequest(encoder.encode(JSON.stringify(body)), kind);
  if (isDenial(parsed)) throw new Error(parsed.detail);
  return parsed;
};
const chat = { model: "m", messages: [{ role: "user", content: "hello" }] };

describe("what a body can cost", () => {
  it("holds for every choice, and for the larger of two caps", () => {
    expect(parse({ ...chat, n: 3, max_tokens: 10 })).toMatchObject({ outputCap: 10, choices: 3 });
    expect(parse({ ...chat, max_tokens: 10, max_completion_tokens: 20 }).outputCap).toBe(20);
    expect(parse(chat).outputCap).toBeNull();
  });

  it("is never fewer input tokens than the body has bytes, whatever the letters", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (content) => {
        const parsed = parse({ ...chat, messages: [{ role: "user", content }] });
        expect(parsed.inputBound).toBeGreaterThanOrEqual(encoder.encode(content).length + 3);
      }),
    );
  });

  it("counts media by more than their bytes: a short address can be a large picture", () => {
    const picture = { type: "image_url", image_url: { url: "https://a/b" } };
    const parsed = parse({ ...chat, messages: [{ role: "user", content: [picture, picture] }] });
    expect(parsed.inputBound).toBeGreaterThan(100_000);
  });

  it("counts predictions that may be rejected and billed as output", () => {
    expect(
      parse({ ...chat, prediction: { type: "content", content: "x".repeat(100) } }).extraOutput,
    ).toBeGreaterThanOrEqual(100);
  });

  it("takes lists of texts and of token ids for embeddings, and nothing else", () => {
    expect(parse({ model: "m", input: [[1, 2, 3]] }, "embedding").inputGuess()).toBe(3);
    for (const input of ["", [], [1, "a"], [-1], { a: 1 }, null]) {
      expect(isDenial(parseOpenAiRequest(encoder.encode(JSON.stringify({ model: "m", input })), "embedding"))).toBe(
        true,
      );
    }
  });
});

describe("bytes of a text", () => {
  it("are those of the encoder", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        expect(utf8Length(text)).toBe(encoder.encode(text).length);
      }),
    );
  });
});

describe("usage", () => {
  it("is read with its details as parts", () => {
    expect(
      readOpenAiUsage({
        prompt_tokens: 10,
        completion_tokens: 5,
        prompt_tokens_details: { cached_tokens: 4 },
        completion_tokens_details: { reasoning_tokens: 3 },
      }),
    ).toEqual({ inputTokens: 10, outputTokens: 5, cacheReadTokens: 4, cacheWriteTokens: 0, reasoningTokens: 3 });
  });

  it.each([
    null,
    {},
    { prompt_tokens: -1 },
    { prompt_tokens: 1.5 },
    { prompt_tokens: "5" },
    { prompt_tokens: 0, completion_tokens: 0 },
  ])("%j says nothing", (usage) => {
    expect(readOpenAiUsage(usage)).toBeUndefined();
  });
});
