import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { PriceRates, TokenRateTexts } from "@/lib/domain/price-rates";
import { TOKEN_RATE_NAMES, UNIT_RATE_NAMES } from "@/lib/domain/price-rates";
import type { TokenUsage } from "@/lib/domain/usage-event";
import { boundOf, costOf, isPriced } from "./cost";
import { PriceError } from "./decimal";

const rate = fc.oneof(
  fc.constant("0"),
  fc.nat(9_999_999).map((digits) => `0.0000${digits.toString().padStart(7, "0")}`),
);
const unitRate = fc.nat(99_999).map((digits) => `0.${digits.toString().padStart(5, "0")}`);
const factor = fc.constantFrom("0.5", "1", "1.1", "6");
const some = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 2 });
const defined = <T extends object>(value: T) =>
  Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as {
    [K in keyof T]: NonNullable<T[K]>;
  };

const tokenRates: fc.Arbitrary<TokenRateTexts> = fc
  .record(Object.fromEntries(TOKEN_RATE_NAMES.map((name) => [name, some(rate)])))
  .map(defined);
const services = fc.dictionary(fc.constantFrom("flex", "priority", "batch"), tokenRates);
const tokens = fc.nat(400_000);
const byLength = <T>(one: fc.Arbitrary<T>) =>
  fc.uniqueArray(fc.tuple(tokens, one), { selector: ([at]) => at, minLength: 1, maxLength: 3 });
const window = fc
  .record({
    from: fc.constantFrom("00:00", "08:00", "22:00"),
    to: fc.constantFrom("00:00", "06:00", "12:00"),
    rates: tokenRates,
  })
  .map(({ from, to, rates }) => ({ hours: [{ from, to }], rates }));
const image = fc
  .record({
    size: some(fc.constantFrom("512x512", "1024x1024")),
    quality: some(fc.constantFrom("low", "hd")),
    perImage: some(unitRate),
    perPixel: some(rate),
  })
  .map(defined);

const row: fc.Arbitrary<PriceRates> = fc
  .record({
    flat: tokenRates,
    units: fc.record(Object.fromEntries(UNIT_RATE_NAMES.map((name) => [name, some(unitRate)]))).map(defined),
    images: some(fc.array(image, { maxLength: 4 })),
    webSearch: some(fc.record({ low: some(unitRate), medium: some(unitRate), high: some(unitRate) }).map(defined)),
    longContext: some(
      fc.record({
        mode: fc.constantFrom("whole", "graduated"),
        isInclusive: fc.boolean(),
        steps: byLength(fc.tuple(tokenRates, some(services))).map((steps) =>
          steps.map(([aboveTokens, [rates, tiers]]) => defined({ ...rates, aboveTokens, services: tiers })),
        ),
      }),
    ),
    inputTiers: some(
      byLength(tokenRates).map((tiers) => tiers.map(([upToTokens, rates]) => ({ ...rates, upToTokens }))),
    ),
    services: some(services),
    regionMultipliers: some(fc.dictionary(fc.constantFrom("eu", "us"), factor)),
    speedMultipliers: some(fc.dictionary(fc.constantFrom("fast"), factor)),
    windows: some(fc.array(window, { maxLength: 2 })),
    reasoningPricesOutput: fc.boolean(),
  })
  .map(({ flat, units, ...rest }) => ({ ...flat, ...units, ...defined(rest) }));

interface Call {
  readonly usage: TokenUsage;
  readonly bounds: { inputTokens: number; outputTokens: number; units: Partial<TokenUsage> };
  readonly atMs: number | undefined;
}

const count = fc.nat(300_000);
const few = fc.nat(50);
const call: fc.Arbitrary<Call> = fc
  .record({
    inputTokens: count,
    outputTokens: count,
    parts: fc.record(
      Object.fromEntries(
        [
          "cacheReadTokens",
          "cacheWriteTokens",
          "reasoningTokens",
          "cacheWrite1hTokens",
          "audioInputTokens",
          "audioCacheReadTokens",
          "audioOutputTokens",
          "imageInputTokens",
          "imageCacheReadTokens",
          "imageOutputTokens",
        ].map((name) => [name, fc.oneof(fc.constant(0), count)]),
      ),
    ),
    units: fc.record(
      Object.fromEntries(
        [
          "citationTokens",
          "inputSeconds",
          "outputSeconds",
          "videoSeconds",
          "characters",
          "pages",
          "annotatedPages",
          "inputImages",
          "queries",
          "webSearches",
        ].map((name) => [name, fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: few })]),
      ),
    ),
    images: some(
      fc.record({
        count: few,
        size: fc.constantFrom("512x512", "1024x1024"),
        quality: fc.constantFrom("low", "hd", "medium"),
      }),
    ),
    isSizeAsked: fc.boolean(),
    isQualityAsked: fc.boolean(),
    webSearchContext: fc.constantFrom("low", "medium", "high"),
    served: fc
      .record({
        serviceTier: some(fc.constantFrom("flex", "priority", "batch", "scale")),
        region: some(fc.constantFrom("eu", "us", "global")),
        speed: some(fc.constant("fast")),
      })
      .map(defined),
    slack: fc.nat(1000),
    atMs: some(fc.integer({ min: 0, max: 2_000_000_000_000 })),
  })
  .map((one) => {
    const images = one.images === undefined ? {} : { images: [one.images] };
    const asked = one.images && {
      count: one.images.count,
      size: one.isSizeAsked ? one.images.size : "auto",
      ...(one.isQualityAsked ? { quality: one.images.quality } : {}),
    };
    const { inputTokens, outputTokens, webSearchContext } = one;
    return {
      usage: {
        inputTokens,
        outputTokens,
        ...one.parts,
        ...one.units,
        ...images,
        webSearchContext,
        ...one.served,
      } as TokenUsage,
      bounds: {
        inputTokens: inputTokens + one.slack,
        outputTokens: outputTokens + one.slack,
        units: { ...one.units, ...(asked ? { images: [asked] } : {}), webSearchContext },
      },
      atMs: one.atMs,
    };
  });

/** Undefined where a rate is missing. */
function unlessMissing<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof PriceError) return undefined;
    throw error;
  }
}

describe("the bound of a call", () => {
  it("is never below what a call within it costs, whatever the row says and however it is served", () => {
    let compared = 0;
    fc.assert(
      fc.property(row, call, (rates, { usage, bounds, atMs }) => {
        const cost = unlessMissing(() => costOf({ usage, rates, ...(atMs === undefined ? {} : { atMs }) }));
        if (cost === undefined) return;
        // A row without a rate for something in the bounds refuses the call beforehand.
        const bound = unlessMissing(() => boundOf({ ...bounds, rates }));
        if (bound === undefined) return;
        compared += 1;
        expect(cost.amount >= 0n).toBe(true);
        expect(cost.amount <= bound).toBe(true);
      }),
      { numRuns: 2000 },
    );
    expect(compared).toBeGreaterThan(400);
  }, 30_000);

  it("of a plain row is the one of the same row said at length", () => {
    fc.assert(
      fc.property(tokenRates, count, count, (all, inputTokens, outputTokens) => {
        const { outputPerToken, cacheReadPerToken, cacheWritePerToken, reasoningPerToken } = all;
        const rates = defined({ inputPerToken: "0.000001", outputPerToken, cacheReadPerToken, cacheWritePerToken, reasoningPerToken }); // prettier-ignore
        const plain = boundOf({ inputTokens, outputTokens, rates });
        expect(boundOf({ inputTokens, outputTokens, rates: { ...rates, speedMultipliers: {} } })).toBe(plain);
      }),
    );
  });

  it("leaves out what is ruled out: other tiers, sound, longer contexts than the call can have", () => {
    const rates: PriceRates = {
      inputPerToken: "0.0000025",
      outputPerToken: "0.00001",
      audioInputPerToken: "0.00004",
      services: { priority: { inputPerToken: "0.000005" } },
      longContext: { steps: [{ aboveTokens: 200_000, inputPerToken: "0.00001" }] },
    };
    const call = { inputTokens: 200_000, outputTokens: 0, rates };
    expect(boundOf(call)).toBe(8_000_000_000n);
    expect(boundOf({ ...call, without: ["audioInput"] })).toBe(1_000_000_000n);
    expect(boundOf({ ...call, without: ["audioInput"], serviceTiers: [] })).toBe(500_000_000n);
    expect(boundOf({ ...call, inputTokens: 200_001, without: ["audioInput"], serviceTiers: [] })).toBe(2_000_010_000n);
  });
});

describe("the cost of a call", () => {
  it("is the sum of its components, rounded once", () => {
    fc.assert(
      fc.property(row, call, (rates, { usage, atMs }) => {
        const cost = unlessMissing(() => costOf({ usage, rates, ...(atMs === undefined ? {} : { atMs }) }));
        if (cost === undefined) return;
        const pico = (text: string) => BigInt(Math.round(Number(text) * 1e12));
        const sum = cost.components.reduce(
          (total, part) => total + BigInt(part.quantity) * pico(part.rate) * pico(part.multiplier ?? "1"),
          0n,
        );
        const difference = cost.amount * 10n ** 15n - sum;
        expect(difference <= 5n * 10n ** 14n && difference >= -5n * 10n ** 14n).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it("takes every token once: parts add up to input and output", () => {
    const outputs = new Set(["output", "reasoning", "audio_output", "image_output"]);
    const rates: PriceRates = {
      inputPerToken: "0.1",
      outputPerToken: "0.1",
      reasoningPerToken: "0.2",
      speedMultipliers: {},
    };
    fc.assert(
      fc.property(call, ({ usage: { images: _, ...all } }) => {
        const usage = { ...all, webSearches: 0, citationTokens: 0, pages: 0, annotatedPages: 0, videoSeconds: 0 };
        if (usage.inputTokens === 0 || usage.outputTokens === 0) return;
        const { components } = costOf({ usage, rates });
        const sum = (isOutput: boolean) =>
          components
            .filter((part) => outputs.has(part.kind) === isOutput)
            .reduce((total, part) => total + part.quantity, 0);
        expect([sum(false), sum(true)]).toEqual([usage.inputTokens, usage.outputTokens]);
      }),
    );
  });

  it("is the same by the short path and by the long one", () => {
    const plain = fc.record({ read: some(rate), write: some(rate), reasoning: some(rate), input: rate, output: rate });
    fc.assert(
      fc.property(plain, call, (texts, { usage: all }) => {
        const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens } = all;
        const usage = { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens };
        const rates = defined({
          inputPerToken: texts.input,
          outputPerToken: texts.output,
          cacheReadPerToken: texts.read,
          cacheWritePerToken: texts.write,
          reasoningPerToken: texts.reasoning,
        });
        const long = costOf({ usage, rates: { ...rates, regionMultipliers: {} } });
        const short = costOf({ usage, rates });
        expect(long.amount).toBe(short.amount);
        const byKind = (parts: typeof long.components) =>
          parts.map((part) => `${part.kind} ${part.quantity} ${part.rate}`).sort();
        expect(byKind(long.components)).toEqual(byKind(short.components));
      }),
    );
  });
});

describe("a row", () => {
  it.each([
    ["chat", { inputPerToken: "0.1" }, false],
    ["chat", { inputTiers: [{ upToTokens: 10, inputPerToken: "0.1", outputPerToken: "0.1" }] }, true],
    ["embedding", { inputPerToken: "0.1" }, true],
    ["image", { inputPerToken: "0.1" }, false],
    ["image", { perPixel: "0.1" }, true],
    ["transcription", { inputPerSecond: "0.1" }, true],
    ["speech", { perCharacter: "0.1" }, true],
    ["rerank", { perQuery: "0.1" }, true],
    ["ocr", { perPage: "0" }, true],
    ["video", {}, false],
  ] as const)("for %s models saying %j is priced: %s", (kind, rates, isIt) => {
    expect(isPriced(rates as unknown as PriceRates, kind)).toBe(isIt);
  });
});
