/** Public bug reports about the arithmetic of prices, with their figures: what went wrong there must come out right here. */
import { describe, expect, it } from "vitest";
import { parseDecimalToNanos } from "@/lib/domain/money";
import type { PriceRates } from "@/lib/domain/price-rates";
import type { UsageHints } from "@/lib/domain/usage-reader";
import { mergeUsage, readUsage } from "@/lib/domain/usage-reader";
import { boundOf, costOf } from "./cost";
import { PriceError, shiftDecimal } from "./decimal";
import { isSuspicious } from "./price-lint";
import { readPriceMap } from "./price-map";

/** USD per million tokens to a row. */
function perMillion(texts: Readonly<Record<string, string>>): PriceRates {
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [`${name}PerToken`, shiftDecimal(text, -6)]));
}

function costOfBody(body: unknown, rates: PriceRates, hints: UsageHints = {}): bigint {
  const reading = readUsage(body, hints);
  if (!reading) throw new Error("no usage");
  expect(reading.flags).toEqual([]);
  return costOf({ usage: reading.usage, rates }).amount;
}

const usd = (text: string): bigint => parseDecimalToNanos(text, "halfEven");

describe("maximhq/bifrost#904", () => {
  it("bills cached tokens at the cached rate", () => {
    const usage = {
      prompt_tokens: 1_239_328,
      completion_tokens: 12_909,
      total_tokens: 1_252_237,
      prompt_tokens_details: { cached_tokens: 1_188_096 },
    };
    const rates = perMillion({ input: "1.25", cacheRead: "0.125", output: "10" });
    expect(costOfBody({ usage }, rates)).toBe(usd("0.341642"));
  });
});

describe("maximhq/bifrost#3451", () => {
  it("bills the written cache of an Anthropic stream once, beside the fresh input", () => {
    const start = { type: "message_start", message: { usage: { input_tokens: 6, cache_creation_input_tokens: 159_217, cache_read_input_tokens: 0, output_tokens: 8 } } }; // prettier-ignore
    const delta = { type: "message_delta", usage: { output_tokens: 2745 } };
    const usage = mergeUsage(start.message.usage, delta.usage);
    const rates = perMillion({ input: "5", cacheWrite: "6.25", output: "25" });
    expect(costOfBody({ usage }, rates)).toBe(usd("1.06376125"));
  });
});

describe("BerriAI/litellm#14849", () => {
  const body = {
    usageMetadata: {
      promptTokenCount: 262_960,
      cachedContentTokenCount: 257_955,
      candidatesTokenCount: 1744,
      totalTokenCount: 264_704,
    },
  };

  it("bills Gemini's cached content at the cached rate of a flat row", () => {
    expect(costOfBody(body, perMillion({ input: "1.25", cacheRead: "0.625", output: "10" }))).toBe(usd("0.184918125"));
  });

  it("and at the long-context cached rate of a row with one, every rate from one tier", () => {
    const rates = {
      ...perMillion({ input: "1.25", cacheRead: "0.125", output: "10" }),
      longContext: {
        steps: [{ aboveTokens: 200_000, ...perMillion({ input: "2.50", cacheRead: "0.25", output: "15" }) }],
      },
    };
    expect(costOfBody(body, rates)).toBe(usd("0.10316125"));
  });
});

describe("BerriAI/litellm#11789", () => {
  it("bills a streamed and a whole Anthropic answer the same, cached part at its rate", () => {
    const rates = perMillion({ input: "0.8", cacheRead: "0.08", output: "4" });
    const counts = { input_tokens: 4, cache_read_input_tokens: 2455, cache_creation_input_tokens: 0 };
    const whole = costOfBody({ usage: { ...counts, output_tokens: 23 } }, rates);
    const streamed = costOfBody({ usage: mergeUsage({ ...counts, output_tokens: 1 }, { output_tokens: 23 }) }, rates);
    expect([whole, streamed]).toEqual([usd("0.0002916"), usd("0.0002916")]);
  });

  it("adds nothing up where a stream states its output twice", () => {
    const seen = mergeUsage(mergeUsage({ input_tokens: 5, output_tokens: 1 }, { output_tokens: 10 }), {
      output_tokens: 25,
    });
    expect(readUsage({ usage: seen })?.usage.outputTokens).toBe(25);
  });
});

describe("BerriAI/litellm#29145", () => {
  const usage = {
    input_tokens: 1,
    cache_creation_input_tokens: 1190,
    cache_read_input_tokens: 32_634,
    output_tokens: 672,
  };

  it("bills cache reads and writes of an Anthropic answer", () => {
    const rates = perMillion({ input: "3.3", cacheWrite: "4.125", cacheRead: "0.33", output: "16.5" });
    expect(costOfBody({ usage }, rates)).toBe(usd("0.02676927"));
  });

  it("and takes the input rate where the row has no cache rates, never nothing", () => {
    const rates = perMillion({ input: "3.3", output: "16.5" });
    expect(costOfBody({ usage }, rates)).toBe(usd("0.1227105"));
  });
});

describe("BerriAI/litellm#14834", () => {
  it("prices the whole call by the threshold it passed", () => {
    const rates = {
      ...perMillion({ input: "3", output: "15" }),
      longContext: { steps: [{ aboveTokens: 128_000, ...perMillion({ input: "6", output: "30" }) }] },
    };
    const usage = { prompt_tokens: 162_732, completion_tokens: 1308, total_tokens: 164_040 };
    expect(costOfBody({ usage }, rates)).toBe(usd("1.015632"));
  });
});

describe("hermes-agent#48712 and BerriAI/litellm PR 39850", () => {
  const rates = perMillion({ input: "0.3", output: "2.5" });
  const gemini = { promptTokenCount: 10, candidatesTokenCount: 20, thoughtsTokenCount: 100, totalTokenCount: 130 };

  it.each([
    ["Gemini counts thoughts beside its candidates", { usageMetadata: gemini }],
    [
      "OpenAI counts reasoning in the completion",
      {
        usage: {
          prompt_tokens: 10,
          completion_tokens: 120,
          total_tokens: 130,
          completion_tokens_details: { reasoning_tokens: 100 },
        },
      },
    ],
    [
      "a total that leaves no room for them says they are in the candidates",
      { usageMetadata: { ...gemini, candidatesTokenCount: 120 } },
    ],
  ])("bill 120 output tokens: %s", (_, body) => {
    expect(costOfBody(body, rates)).toBe(usd("0.000303"));
  });
});

describe("BerriAI/litellm#19764", () => {
  it("bills spoken output at the audio rate", () => {
    const usage = {
      prompt_tokens: 17,
      completion_tokens: 592,
      total_tokens: 609,
      completion_tokens_details: { text_tokens: 110, audio_tokens: 482 },
    };
    const rates = perMillion({ input: "2.5", output: "10", audioOutput: "80" });
    expect(costOfBody({ usage }, rates)).toBe(usd("0.0397025"));
  });
});

describe("BerriAI/litellm#36646", () => {
  it("bills ten embeddings of six tokens, each above zero", () => {
    const one = costOfBody({ usage: { prompt_tokens: 6, total_tokens: 6 } }, perMillion({ input: "0.02" }));
    expect(one).toBe(usd("0.00000012"));
    expect(one * 10n).toBe(usd("0.0000012"));
  });
});

describe("maximhq/bifrost#5243 and #3559", () => {
  it("bills a rate per million as a millionth per token", () => {
    const usage = { prompt_tokens: 8650, total_tokens: 8650 };
    expect(costOfBody({ usage }, perMillion({ input: "5.50", output: "0" }))).toBe(usd("0.047575"));
  });

  it("asks before it takes a rate per million for one per token", () => {
    expect(isSuspicious({ inputPerToken: "5.50" })).toBe(true);
    expect(isSuspicious(perMillion({ input: "5.50" }))).toBe(false);
    expect(isSuspicious(perMillion({ input: "10000" }))).toBe(false);
    expect(isSuspicious(perMillion({ input: "10000.01" }))).toBe(true);
    expect(isSuspicious(perMillion({ input: "550.01" }), perMillion({ input: "5.50" }))).toBe(true);
    expect(isSuspicious(perMillion({ input: "550" }), perMillion({ input: "5.50" }))).toBe(false);
  });
});

describe("BerriAI/litellm#25874", () => {
  const usage = { inputTokens: 10, outputTokens: 5, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };

  it("takes a missing price for an error and a zero for free", () => {
    expect(() => costOf({ usage, rates: {} })).toThrow(PriceError);
    expect(() => costOf({ usage, rates: { outputPerToken: "0.1" } })).toThrow(PriceError);
    expect(() => costOf({ usage: { ...usage, webSearches: 1 }, rates: perMillion({ input: "1", output: "1" }) })).toThrow(PriceError); // prettier-ignore
    expect(() => boundOf({ inputTokens: 10, outputTokens: 5, rates: { outputPerToken: "0.1" } })).toThrow(PriceError);
    expect(costOf({ usage, rates: { inputPerToken: "0", outputPerToken: "0" } }).amount).toBe(0n);
  });

  it("refuses a broken catalogue whole", () => {
    const good = { litellm_provider: "openai", mode: "chat", input_cost_per_token: 1e-6, output_cost_per_token: 1e-6 };
    const reading = readPriceMap(JSON.stringify({ good, bad: { ...good, output_cost_per_token: -1 }, worse: { ...good, input_cost_per_token: "much" } })); // prettier-ignore
    expect(reading).toEqual({
      ok: false,
      problems: [
        { key: "bad", field: "output_cost_per_token", message: expect.any(String) },
        { key: "worse", field: "input_cost_per_token", message: expect.any(String) },
      ],
    });
    for (const text of ["", "{", "[]", "null", "{}", '{"a": {"litellm_provider": "x", "input_cost_per_token": NaN}}']) {
      expect(readPriceMap(text).ok).toBe(false);
    }
  });
});
