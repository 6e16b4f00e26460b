import { describe, expect, it } from "vitest";
import { differenceOf, sumBooked } from "./correction";
import type { BookedAmounts } from "./correction";
import type { TokenUsage } from "./usage-event";

const NONE = { inputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 0, reasoningTokens: 0 };
const booked = (usage: Partial<TokenUsage>): BookedAmounts => ({
  ...{ priceAmount: 0n, amount: 0n, savedAmount: 0n, lines: [] },
  usage: { ...NONE, ...usage },
});
const RICH: Partial<TokenUsage> = {
  inputTokens: 900,
  outputTokens: 300,
  cacheWriteTokens: 50,
  cacheWrite1hTokens: 20,
  audioInputTokens: 40,
  audioCacheReadTokens: 4,
  audioOutputTokens: 30,
  imageInputTokens: 60,
  imageCacheReadTokens: 6,
  imageOutputTokens: 70,
  citationTokens: 8,
  inputSeconds: 12.345,
  outputSeconds: 0.1,
  videoSeconds: 8,
  characters: 17,
  pages: 3,
  annotatedPages: 1,
  inputImages: 2,
  images: [{ count: 2, size: "1024x1024", quality: "high" }],
  queries: 5,
  webSearches: 3,
  webSearchContext: "medium",
  serviceTier: "flex",
  region: "eu",
  speed: "fast",
};

describe("the usage of corrections", () => {
  it("carries every dimension: what was booked and its difference make what is wanted", () => {
    const wrong = booked({
      ...RICH,
      pages: 1,
      characters: 100,
      images: [{ count: 5, size: "512x512" }],
      inputSeconds: 60,
    });
    const correction = differenceOf(booked(RICH), wrong);
    expect(sumBooked([wrong, correction]).usage).toEqual(booked(RICH).usage);
  });

  it("of an estimate that knew tokens only adds what the bill says of everything else", () => {
    const estimate = booked({ inputTokens: 1000 });
    const correction = differenceOf(booked(RICH), estimate);
    expect(correction.usage).toMatchObject({ inputTokens: -100, webSearches: 3, serviceTier: "flex" });
    expect(sumBooked([estimate, correction]).usage).toEqual(booked(RICH).usage);
  });

  it("says nothing of what did not change, and sums seconds without the noise of doubles", () => {
    expect(differenceOf(booked(RICH), booked(RICH)).usage).toEqual({
      ...NONE,
      ...{ webSearchContext: "medium", serviceTier: "flex", region: "eu", speed: "fast" },
    });
    const tenth = booked({ outputSeconds: 0.1 });
    expect(sumBooked([tenth, tenth, tenth]).usage.outputSeconds).toBe(0.3);
  });

  it("keeps pictures apart by size and quality", () => {
    const small = booked({ images: [{ count: 1, size: "512x512" }] });
    const large = booked({ images: [{ count: 2, size: "1024x1024", quality: "hd" }] });
    expect(sumBooked([small, large, small]).usage.images).toEqual([
      { count: 2, size: "512x512" },
      { count: 2, size: "1024x1024", quality: "hd" },
    ]);
  });
});
