import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { answerText, countInputTokens, countPromptTokens } from "./tokens";

describe("countPromptTokens", () => {
  it("is a quarter of the bytes plus 3 a message plus 3", () => {
    const messages = [
      { role: "system", content: "abcd" },
      { role: "user", content: [{ type: "text", text: "预算用完" }] },
    ];
    expect(countPromptTokens(messages, {})).toBe(Math.ceil((4 + 12) / 4) + 2 * 3 + 3);
  });

  it("never exceeds the bytes plus 4 a message plus 3", () => {
    const contents = fc.array(fc.string({ unit: "binary", maxLength: 40 }), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(contents, (texts) => {
        const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
        const messages = texts.map((content) => ({ role: "user", content }));
        expect(countPromptTokens(messages, {})).toBeLessThanOrEqual(bytes + 4 * texts.length + 3);
      }),
    );
  });

  it("counts tool schemas, tool calls and parts that are not text", () => {
    const plain = countPromptTokens([{ role: "user", content: "hi" }], {});
    const tools = [{ type: "function", function: { name: "f", parameters: { type: "object" } } }];
    expect(countPromptTokens([{ role: "user", content: "hi" }], { tools })).toBeGreaterThan(plain);
    expect(countPromptTokens([{ role: "assistant", content: null, tool_calls: tools }], {})).toBeGreaterThan(plain);
    const image = { type: "image_url", image_url: { url: "https://example.com/a.png" } };
    expect(countPromptTokens([{ role: "user", content: [image] }], {})).toBeGreaterThan(plain);
  });
});

describe("countInputTokens", () => {
  it("counts bytes of text and numbers of ids", () => {
    expect(countInputTokens("abcde")).toBe(2);
    expect(countInputTokens([5, 6, 7])).toBe(3);
  });
});

describe("answerText", () => {
  it("has one piece a token, however it is cut", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5_000 }), fc.integer({ min: 1, max: 50 }), (tokens, step) => {
        const whole = answerText(0, tokens);
        expect(whole.split(" ")).toHaveLength(tokens);
        let joined = "";
        for (let from = 0; from < tokens; from += step) joined += answerText(from, Math.min(from + step, tokens));
        expect(joined).toBe(whole);
      }),
      { numRuns: 50 },
    );
    expect(answerText(0, 3)).toBe("w0 w1 w2");
    expect(answerText(12, 13)).toBe(" w12");
    expect(answerText(0, 0)).toBe("");
  });
});
