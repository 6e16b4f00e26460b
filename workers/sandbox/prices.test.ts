import { describe, expect, it } from "vitest";
import { costNanos, findModel, MODELS, type SandboxModel } from "./prices";

function model(id: string): SandboxModel {
  const found = findModel(id);
  if (found === undefined) throw new Error(`no model ${id}`);
  return found;
}

function cost(id: string, promptTokens: number, cachedTokens: number, completionTokens: number): bigint {
  return costNanos(model(id), { promptTokens, cachedTokens, completionTokens });
}

describe("costNanos", () => {
  it("is the sum of plain input, cached input and output at the listed prices", () => {
    expect(cost("sandbox-large", 1_000_000, 0, 0)).toBe(2_500_000_000n);
    expect(cost("sandbox-large", 1_000_000, 1_000_000, 0)).toBe(1_250_000_000n);
    expect(cost("sandbox-large", 0, 0, 1_000_000)).toBe(10_000_000_000n);
    expect(cost("sandbox-medium", 1_000, 400, 50)).toBe(600n * 800n + 400n * 400n + 50n * 3_200n);
    expect(cost("sandbox-small", 18, 4, 40)).toBe(14n * 150n + 4n * 75n + 40n * 600n);
    expect(cost("sandbox-embed", 6, 0, 0)).toBe(120n);
  });

  it("needs no rounding at these prices, which are whole nanos a token", () => {
    for (const each of MODELS) {
      for (const price of [each.inputPrice, each.cachedInputPrice, each.outputPrice]) {
        const [whole = "0", fraction = ""] = price.split(".");
        expect(BigInt(whole + fraction.padEnd(9, "0")) % 1_000_000n).toBe(0n);
      }
    }
  });

  it("stays exact far beyond 2^53 nanos", () => {
    expect(cost("sandbox-large", 0, 0, 4_294_967_295)).toBe(42_949_672_950_000n);
  });

  it("prices the parts of input and output that have a price of their own, once", () => {
    const counts = { promptTokens: 1_000, cachedTokens: 100, completionTokens: 500 };
    const extras = {
      cacheWriteTokens: 200,
      audioInputTokens: 300,
      audioOutputTokens: 50,
      reasoningTokens: 400,
      searches: 2,
    };
    const input = 400n * 2_500n + 100n * 250n + 200n * 3_125n + 300n * 40_000n;
    const output = 450n * 10_000n + 50n * 80_000n;
    expect(costNanos(model("sandbox-omni"), counts, extras)).toBe(input + output + 2n * 10_000_000n);
  });

  it("charges a part without a price of its own as what it is a part of", () => {
    const counts = { promptTokens: 1_000, cachedTokens: 0, completionTokens: 500 };
    const extras = { cacheWriteTokens: 200, imageInputTokens: 9, audioOutputTokens: 50 };
    expect(costNanos(model("sandbox-small"), counts, extras)).toBe(costNanos(model("sandbox-small"), counts));
  });

  it.each([
    ["flex", 1n, 2n],
    ["batch", 1n, 2n],
    ["priority", 2n, 1n],
    ["default", 1n, 1n],
    ["scale", 0n, 1n],
  ])("multiplies tokens, and no fee beside them, by the tier %s", (serviceTier, factor, divisor) => {
    const counts = { promptTokens: 1_000, cachedTokens: 0, completionTokens: 100 };
    const tokens = (1_000n * 2_500n + 100n * 10_000n) * factor;
    const cost = costNanos(model("sandbox-omni"), counts, { serviceTier, searches: 1 });
    expect(cost).toBe(tokens / divisor + 10_000_000n);
  });

  it("adds a tenth to tokens that stay in the US, and rounds half to even once", () => {
    const counts = { promptTokens: 1, cachedTokens: 1, completionTokens: 0 };
    // 0.075 USD a million is 75 nanos: 82.5 with a tenth more, 37.5 at half price.
    expect(costNanos(model("sandbox-small"), counts, { inferenceGeo: "us" })).toBe(82n);
    expect(costNanos(model("sandbox-small"), counts, { serviceTier: "batch" })).toBe(38n);
  });

  it("charges pictures, seconds, characters and search units by the piece", () => {
    const none = { promptTokens: 0, cachedTokens: 0, completionTokens: 0 };
    const kind = { images: 3, imageKind: "standard/1024x1024" };
    expect(costNanos(model("sandbox-dalle"), none, kind)).toBe(120_000_000n);
    expect(costNanos(model("sandbox-whisper"), none, { seconds: 93 })).toBe(9_300_000n);
    expect(costNanos(model("sandbox-tts"), none, { characters: 17 })).toBe(255_000n);
    expect(costNanos(model("sandbox-rerank"), none, { searchUnits: 3 })).toBe(6_000_000n);
  });
});
