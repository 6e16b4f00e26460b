import { describe, expect, it } from "vitest";
import type { PriceRates } from "@/lib/domain/price-rates";
import type { TokenUsage } from "@/lib/domain/usage-event";
import { boundOf, costOf } from "./cost";
import { PriceError } from "./decimal";

const usage = (inputTokens: number, outputTokens: number, more: Partial<TokenUsage> = {}): TokenUsage => ({
  inputTokens,
  outputTokens,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
  ...more,
});
const base = { inputPerToken: "0.000001", outputPerToken: "0.000002" };
const parts = (used: TokenUsage, rates: PriceRates, atMs?: number) =>
  costOf({ usage: used, rates, ...(atMs === undefined ? {} : { atMs }) }).components.map(
    ({ kind, quantity, rate, multiplier }) =>
      `${kind} ${quantity} ${rate}${multiplier === undefined ? "" : ` x${multiplier}`}`,
  );

describe("long contexts", () => {
  const steps = [
    { aboveTokens: 100, inputPerToken: "0.000003" },
    { aboveTokens: 200, inputPerToken: "0.000005", outputPerToken: "0.00001" },
  ];

  it.each([
    [100, "0.000001", "0.000002"],
    [101, "0.000003", "0.000002"],
    [200, "0.000003", "0.000002"],
    [201, "0.000005", "0.00001"],
  ])("of %i tokens reprice the whole call by the highest step passed: %s, %s", (tokens, input, output) => {
    expect(parts(usage(tokens, 1), { ...base, longContext: { steps } })).toEqual([`input ${tokens} ${input}`, `output 1 ${output}`]); // prettier-ignore
  });

  it("take the threshold itself where the row says so (xAI)", () => {
    const rates = { ...base, longContext: { isInclusive: true, steps } };
    expect(parts(usage(200, 0), rates)).toEqual(["input 200 0.000005"]);
    expect(parts(usage(99, 0), rates)).toEqual(["input 99 0.000001"]);
  });

  it("count the cache towards the threshold", () => {
    const used = usage(201, 0, { cacheReadTokens: 200 });
    expect(parts(used, { ...base, longContext: { steps } })).toEqual(["cache_read 200 0.000005", "input 1 0.000005"]);
  });

  it("graduated: only what is above a step costs its rate, each side by its own count", () => {
    const rates: PriceRates = { ...base, longContext: { mode: "graduated", steps } };
    expect(parts(usage(250, 201), rates)).toEqual([
      "input 100 0.000001",
      "input 100 0.000003",
      "input 50 0.000005",
      "output 100 0.000002",
      "output 100 0.000002",
      "output 1 0.00001",
    ]);
    expect(costOf({ usage: usage(250, 0), rates }).amount).toBe(650_000n);
  });

  it("graduated: what was cached stands first in the context", () => {
    const rates: PriceRates = { ...base, cacheReadPerToken: "0", longContext: { mode: "graduated", steps } };
    expect(parts(usage(150, 0, { cacheReadTokens: 100 }), rates)).toEqual(["cache_read 100 0", "input 50 0.000003"]);
  });
});

describe("tiers by input length", () => {
  const rates: PriceRates = {
    outputPerToken: "0.000009",
    cacheReadPerToken: "0.0000001",
    inputTiers: [
      { upToTokens: 10, inputPerToken: "0.000001", cacheReadPerToken: "0.0000005" },
      { upToTokens: 20, inputPerToken: "0.000002", outputPerToken: "0.000004" },
    ],
  };

  it.each([
    [10, ["cache_read 1 0.0000005", "input 9 0.000001", "output 1 0.000009"]],
    [11, ["cache_read 1 0.000002", "input 10 0.000002", "output 1 0.000004"]],
    [99, ["cache_read 1 0.000002", "input 98 0.000002", "output 1 0.000004"]],
  ])(
    "of %i tokens: the bound is in the tier, a missing cache rate is the tier's input, output the row's",
    (tokens, right) => {
      expect(parts(usage(tokens, 1, { cacheReadTokens: 1 }), rates)).toEqual(right);
    },
  );

  it("of no input are in the first", () => {
    expect(parts(usage(0, 1), rates)).toEqual(["output 1 0.000009"]);
  });
});

describe("service tiers", () => {
  const rates: PriceRates = {
    ...base,
    services: { priority: { inputPerToken: "0.000004" }, scale: { inputPerToken: "0", outputPerToken: "0" } },
    longContext: {
      steps: [{ aboveTokens: 100, inputPerToken: "0.000003", services: { flex: { inputPerToken: "0.0000015" } } }],
    },
  };

  it.each([
    ["priority", 100, "0.000004"],
    ["batch", 100, "0.000001"],
    ["flex", 101, "0.0000015"],
    // The row does not say what both make: the dearer holds.
    ["priority", 101, "0.000004"],
    ["constructor", 100, "0.000001"],
  ])("%s with %i tokens costs %s", (serviceTier, tokens, rate) => {
    expect(parts(usage(tokens, 0, { serviceTier }), rates)).toEqual([`input ${tokens} ${rate}`]);
  });

  it("paid beforehand are free on purpose", () => {
    expect(costOf({ usage: usage(50, 5, { serviceTier: "scale" }), rates }).amount).toBe(0n);
  });
});

describe("multipliers", () => {
  it("multiply each other and token parts, never fees", () => {
    const rates = {
      ...base,
      perRequest: "0.01",
      webSearch: { medium: "0.02" },
      regionMultipliers: { us: "1.1" },
      speedMultipliers: { fast: "6" },
    };
    const used = usage(10, 0, { region: "us", speed: "fast", webSearches: 1 });
    expect(parts(used, rates)).toEqual(["input 10 0.000001 x6.6", "web_search 1 0.02", "request 1 0.01"]);
    expect(costOf({ usage: used, rates }).amount).toBe(30_066_000n);
    expect(parts(usage(10, 0, { region: "eu" }), rates)).toEqual(["input 10 0.000001", "request 1 0.01"]);
  });
});

describe("peak hours", () => {
  // DeepSeek's list of November 2026: peak on Chinese working days, all else off-peak.
  const peak = {
    hours: [
      { from: "01:00", to: "04:00" },
      { from: "06:00", to: "10:00" },
    ],
    weekdays: [1, 2, 3, 4, 5],
    closedDates: ["2026-10-01"],
    openDates: ["2026-10-10"],
    rates: { inputPerToken: "0.000002" },
  };
  const rates: PriceRates = { ...base, windows: [peak] };

  it.each([
    ["2026-11-11T00:59:59.999Z", "0.000001"],
    ["2026-11-11T01:00:00Z", "0.000002"],
    ["2026-11-11T03:59:59.999Z", "0.000002"],
    ["2026-11-11T04:00:00Z", "0.000001"],
    ["2026-11-14T02:00:00Z", "0.000001"],
    ["2026-10-01T02:00:00Z", "0.000001"],
    ["2026-10-10T02:00:00Z", "0.000002"],
  ])("at %s cost %s a token", (at, rate) => {
    expect(parts(usage(1, 0), rates, Date.parse(at))).toEqual([`input 1 ${rate}`]);
  });

  it("wrap midnight, in a zone with its own weekday", () => {
    const night = {
      hours: [{ from: "22:00", to: "02:00" }],
      timeZone: "UTC",
      weekdays: [6],
      weekdayTimeZone: "Asia/Shanghai",
      rates: { inputPerToken: "0" },
    };
    const cheap = { ...base, windows: [night] };
    // Friday 22:30 UTC is Saturday in Shanghai; Saturday 22:30 UTC is Sunday there.
    expect(parts(usage(1, 0), cheap, Date.parse("2026-11-13T22:30:00Z"))).toEqual(["input 1 0"]);
    expect(parts(usage(1, 0), cheap, Date.parse("2026-11-14T01:59:00Z"))).toEqual(["input 1 0"]);
    expect(parts(usage(1, 0), cheap, Date.parse("2026-11-14T22:30:00Z"))).toEqual(["input 1 0.000001"]);
  });

  it("hold for a call whose start nobody knows", () => {
    expect(parts(usage(1, 0), rates)).toEqual(["input 1 0.000002"]);
    expect(boundOf({ inputTokens: 1, outputTokens: 0, rates })).toBe(2000n);
  });
});

describe("sound, pictures and thought", () => {
  it("fall to the text rate of their side, cached sound to the rate of sound", () => {
    const used = usage(10, 4, {
      cacheReadTokens: 3,
      audioInputTokens: 5,
      audioCacheReadTokens: 2,
      audioOutputTokens: 4,
    });
    const one = { ...base, cacheReadPerToken: "0.0000001" };
    expect(parts(used, { ...one, regionMultipliers: {} })).toEqual([
      "cache_read 1 0.0000001",
      "audio_cache_read 2 0.0000001",
      "input 4 0.000001",
      "audio_input 3 0.000001",
      "audio_output 4 0.000002",
    ]);
    expect(parts(used, { ...one, audioInputPerToken: "0.00004" })).toContain("audio_cache_read 2 0.00004");
  });

  it("take cached tokens that must have been sound for sound", () => {
    const used = usage(10, 0, { cacheReadTokens: 6, audioInputTokens: 8 });
    const rates = { ...base, cacheReadPerToken: "0.0000001", audioInputPerToken: "0.00004" };
    expect(parts(used, rates)).toEqual([
      "cache_read 2 0.0000001",
      "audio_cache_read 4 0.00004",
      "audio_input 4 0.00004",
    ]);
  });

  it("sold as a mode price all output by it", () => {
    const rates = { ...base, reasoningPerToken: "0.000008", reasoningPricesOutput: true };
    expect(parts(usage(0, 10, { reasoningTokens: 1 }), rates)).toEqual(["reasoning 10 0.000008"]);
    expect(parts(usage(0, 10), rates)).toEqual(["output 10 0.000002"]);
  });
});

describe("what is not counted in tokens", () => {
  it("is charged where tokens are not, never twice", () => {
    const both = { ...base, inputPerSecond: "0.0001", perImage: "0.04" };
    expect(parts(usage(100, 0, { inputSeconds: 60 }), both)).toEqual(["input 100 0.000001"]);
    expect(parts(usage(0, 0, { inputSeconds: 60.5 }), both)).toEqual(["input_second 60.5 0.0001"]);
    const freeTokens = { inputPerToken: "0", outputPerToken: "0", perImage: "0.04" };
    expect(parts(usage(5, 9, { images: [{ count: 2 }] }), freeTokens)).toEqual([
      "input 5 0",
      "output 9 0",
      "image 2 0.04",
    ]);
  });

  it("prices seconds to the thousandth", () => {
    expect(costOf({ usage: usage(0, 0, { inputSeconds: 93.457 }), rates: { inputPerSecond: "0.0001" } }).amount).toBe(9_345_700n); // prettier-ignore
  });

  const images = [
    { size: "1024x1024", quality: "standard", perImage: "0.04" },
    { size: "1024x1024", quality: "hd", perImage: "0.08" },
    { size: "1024x1792", quality: "hd", perPixel: "0.00000006539" },
    { quality: "low", perImage: "0.01" },
  ];

  it.each([
    [{ count: 2, size: "1024x1024", quality: "standard" }, "image 2 0.04"],
    [{ count: 1, size: "1024x1024", quality: "auto" }, "image 1 0.5"],
    [{ count: 1, size: "1024x1792", quality: "hd" }, "pixel 1835008 0.00000006539"],
    [{ count: 1, size: "512x512", quality: "low" }, "image 1 0.01"],
    [{ count: 1, size: "512x512", quality: "hd" }, "image 1 0.5"],
    [{ count: 1 }, "image 1 0.5"],
  ])("prices a picture %j by size and quality, unknown ones at the dearest: %s", (image, right) => {
    expect(parts(usage(0, 0, { images: [image] }), { images, perImage: "0.5" })).toEqual([right]);
  });

  it("does not guess a size that decides the price", () => {
    const unsized = { usage: usage(0, 0, { images: [{ count: 1 }] }), rates: { perPixel: "0.00000002" } };
    expect(() => costOf(unsized)).toThrow(PriceError);
    expect(() => boundOf({ inputTokens: 0, outputTokens: 9, rates: unsized.rates, units: unsized.usage })).toThrow(
      PriceError,
    );
  });

  it("is an error without a rate, and the tokens of a row that sells by the piece are not", () => {
    for (const used of [{ pages: 1 }, { videoSeconds: 1 }, { webSearches: 1 }, { citationTokens: 1 }, { queries: 1 }]) {
      expect(() => costOf({ usage: usage(0, 0, used), rates: base })).toThrow(PriceError);
    }
    expect(parts(usage(30, 0, { pages: 2 }), { perPage: "0.004" })).toEqual(["page 2 0.004"]);
    expect(() => costOf({ usage: usage(30, 0), rates: { perPage: "0.004" } })).toThrow(PriceError);
  });

  it("searches with a medium context unless the call says another", () => {
    const rates = { ...base, webSearch: { low: "0.03", medium: "0.035", high: "0.05" } };
    expect(parts(usage(0, 0, { webSearches: 2 }), rates)).toEqual(["web_search 2 0.035"]);
    expect(parts(usage(0, 0, { webSearches: 1, webSearchContext: "high" }), rates)).toEqual(["web_search 1 0.05"]);
  });
});
