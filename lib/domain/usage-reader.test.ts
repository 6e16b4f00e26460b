import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { tokenUsage } from "./usage-event";
import { findUsage, mergeUsage, readUsage } from "./usage-reader";

const plain = (inputTokens: number, outputTokens: number) => ({
  inputTokens,
  outputTokens,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
});

const read = (body: unknown) => readUsage(body)?.usage;

describe("usage is found", () => {
  const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };

  it.each([
    ["at the top", { usage }],
    ["in the last choice (Moonshot)", { usage: null, choices: [{ index: 0 }, { index: 1, usage }] }],
    ["in a finished response's event (OpenAI)", { type: "response.completed", response: { usage } }],
    ["in a vendor's corner (Groq)", { x_groq: { id: "a", usage } }],
  ])("%s", (_, body) => {
    expect(read(body)).toEqual(plain(3, 2));
  });

  it.each([
    null,
    undefined,
    "text",
    [],
    {},
    { usage: null },
    { usage: [] },
    { choices: [] },
    { error: { message: "no" } },
  ])("nowhere in %j", (body) => {
    expect(readUsage(body)).toBeUndefined();
  });

  it("only where it says something: zeros are a server that does not count", () => {
    expect(readUsage({ usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 } })).toBeUndefined();
  });

  it("as it came, for a reading that somebody has to look into", () => {
    const raw = { prompt_tokens: 3, completion_tokens: -1, vendor_note: "x" };
    expect(readUsage({ usage: raw })).toEqual({ usage: plain(3, 0), flags: ["negative"], raw });
    expect(findUsage({ usage: raw })).toBe(raw);
  });
});

describe("impossible usage", () => {
  it.each([
    ["below zero", { prompt_tokens: -5, completion_tokens: 5 }, plain(0, 5), "negative"],
    ["a broken token", { prompt_tokens: 1.5, completion_tokens: 5 }, plain(2, 5), "not_whole"],
    ["a text", { prompt_tokens: "5", completion_tokens: 5 }, plain(0, 5), "unreadable"],
    ["more than a call can have", { prompt_tokens: 5, completion_tokens: 1e300 }, plain(5, 0), "unreadable"],
    [
      "more cached than sent",
      { prompt_tokens: 5, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 9 } },
      { ...plain(5, 1), cacheReadTokens: 5 },
      "parts_above_whole",
    ],
    [
      "more reasoning than output",
      { prompt_tokens: 5, completion_tokens: 1, completion_tokens_details: { reasoning_tokens: 9 } },
      { ...plain(5, 1), reasoningTokens: 1 },
      "parts_above_whole",
    ],
    [
      "a total below its parts",
      { prompt_tokens: 5, completion_tokens: 2, total_tokens: 3 },
      plain(5, 2),
      "total_below_parts",
    ],
  ])("is cut and flagged: %s", (_, usage, right, flag) => {
    expect(readUsage({ usage })).toMatchObject({ usage: right, flags: [flag] });
  });

  it("never gets through: whatever a body holds, every count is whole, not negative and inside its parent", () => {
    const names = fc.constantFrom(
      ...[
        "prompt_tokens",
        "completion_tokens",
        "total_tokens",
        "input_tokens",
        "output_tokens",
        "cached_tokens",
        "reasoning_tokens",
      ],
      ...[
        "cache_read_input_tokens",
        "cache_creation_input_tokens",
        "promptTokenCount",
        "candidatesTokenCount",
        "totalTokenCount",
      ],
      ...[
        "thoughtsTokenCount",
        "prompt_eval_count",
        "citation_tokens",
        "seconds",
        "cached",
        "audio_tokens",
        "image_tokens",
      ],
    );
    const value = fc.oneof(
      fc.integer({ min: -5, max: 100 }),
      fc.double(),
      fc.string(),
      fc.constant(null),
      fc.constant([]),
    );
    const details = fc.dictionary(names, value);
    const usage = fc
      .tuple(fc.dictionary(names, value), details, details)
      .map(([top, input, output]) => ({ ...top, prompt_tokens_details: input, completion_tokens_details: output }));
    const body = fc.oneof(fc.record({ usage }), fc.record({ usageMetadata: usage }), fc.object());
    fc.assert(
      fc.property(body, (sent) => {
        const found = read(sent);
        if (found === undefined) return;
        expect(tokenUsage.safeParse(found).success).toBe(true);
        expect(found.cacheReadTokens + found.cacheWriteTokens).toBeLessThanOrEqual(found.inputTokens);
        expect(found.reasoningTokens).toBeLessThanOrEqual(found.outputTokens);
        expect((found.audioOutputTokens ?? 0) + (found.imageOutputTokens ?? 0)).toBeLessThanOrEqual(found.outputTokens);
      }),
      { numRuns: 2000 },
    );
  });
});

describe("usage of a stream", () => {
  it("is cumulative: what is stated again replaces, what is left out stays", () => {
    const start = { input_tokens: 120, cache_read_input_tokens: 15_000, output_tokens: 3, service_tier: "standard" };
    const merged = mergeUsage(mergeUsage(undefined, start), { output_tokens: 10, input_tokens: null });
    expect(read({ usage: mergeUsage(merged, { output_tokens: 25 }) })).toEqual({
      ...plain(15_120, 25),
      cacheReadTokens: 15_000,
    });
  });
});

describe("usage of a request that was sampled several times (Anthropic)", () => {
  const summary = { type: "compaction", input_tokens: 180_000, output_tokens: 3_500 };
  const answer = { type: "message", input_tokens: 23_000, output_tokens: 1_000 };

  it("is that of all of them, though the counts beside leave one out", () => {
    const usage = { input_tokens: 23_000, output_tokens: 1_000, iterations: [summary, answer] };
    expect(read({ usage })).toEqual(plain(203_000, 4_500));
  });

  it("counts once what is in both", () => {
    const usage = { input_tokens: 23_000, output_tokens: 1_000, cache_read_input_tokens: 0, iterations: [answer] };
    expect(read({ usage })).toEqual(plain(23_000, 1_000));
  });

  it("sums the cache by its lifetimes, too", () => {
    const part = {
      ...{ input_tokens: 10, output_tokens: 1, cache_read_input_tokens: 5, cache_creation_input_tokens: 7 },
      cache_creation: { ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: 4 },
    };
    expect(read({ usage: { input_tokens: 10, output_tokens: 1, iterations: [part, part] } })).toEqual({
      ...plain(44, 2),
      ...{ cacheReadTokens: 10, cacheWriteTokens: 14, cacheWrite1hTokens: 8 },
    });
  });

  it.each([[[]], ["x"], [[null, 1]]])("is as stated where the list is %j", (iterations) => {
    expect(read({ usage: { input_tokens: 5, output_tokens: 2, iterations } })).toEqual(plain(5, 2));
  });
});
