/** Models of Chinese vendors with their list prices; where they are from and in which currency says `vendors.ts`. */
import type { VendorModel } from "./vendors";

type Rates = VendorModel["rates"];

const chat = (name: string, contextTokens: number, maxOutputTokens: number, rates: Rates): VendorModel => ({
  ...{ name, kind: "chat", contextTokens, maxOutputTokens, rates },
});
const tokens = (input: string, cacheRead: string, output: string): Rates => ({
  inputPerToken: input,
  cacheReadPerToken: cacheRead,
  outputPerToken: output,
});

/**
 * Twice the price on weekdays 01:00-04:00 and 06:00-10:00 UTC. Chinese public holidays are cheap as well; which days those are is
 * announced a year at a time, and until they are entered as `closedDates` they cost what a working day costs.
 */
const PEAK = {
  hours: [
    { from: "01:00", to: "04:00" },
    { from: "06:00", to: "10:00" },
  ],
  timeZone: "UTC",
  weekdays: ["1", "2", "3", "4", "5"],
};

export const DEEPSEEK_MODELS: readonly VendorModel[] = [
  chat("deepseek-flash", 1_000_000, 384_000, {
    ...tokens("0.15", "0.003", "0.60"),
    windows: [{ ...PEAK, rates: tokens("0.30", "0.006", "1.20") }],
  }),
  chat("deepseek-v4-pro", 1_000_000, 384_000, {
    ...tokens("0.66", "0.022", "1.98"),
    windows: [{ ...PEAK, rates: tokens("1.32", "0.044", "3.96") }],
  }),
];

/** One tier for the whole request, by its input tokens; hits of the implicit cache cost a fifth of the input. */
const tier = (upToTokens: number, input: string, cacheRead: string, output: string): Rates => ({
  upToTokens: String(upToTokens),
  ...tokens(input, cacheRead, output),
});

export const DASHSCOPE_MODELS: readonly VendorModel[] = [
  chat("qwen3-max", 262_144, 65_536, {
    ...tokens("7", "1.4", "28"),
    inputTiers: [tier(32_000, "2.5", "0.5", "10"), tier(128_000, "4", "0.8", "16"), tier(256_000, "7", "1.4", "28")],
  }),
  chat("qwen3.5-plus", 262_144, 65_536, {
    ...tokens("2", "0.4", "12"),
    inputTiers: [tier(128_000, "0.8", "0.16", "4.8"), tier(256_000, "2", "0.4", "12")],
  }),
];

export const MOONSHOT_MODELS: readonly VendorModel[] = [
  chat("kimi-k3", 1_000_000, 128_000, tokens("3", "0.30", "15")),
  chat("kimi-k2.6", 262_144, 128_000, tokens("0.95", "0.16", "4")),
];

export const ZHIPU_MODELS: readonly VendorModel[] = [chat("glm-5.3", 200_000, 128_000, tokens("8", "2", "28"))];

export const ARK_MODELS: readonly VendorModel[] = [
  // Answers of at most 200 tokens to short prompts are cheaper; a row knows no tiers of output, so the dearer price stands.
  chat("doubao-seed-1-8-251215", 256_000, 32_768, {
    ...tokens("2.4", "0.16", "24"),
    inputTiers: [
      tier(32_000, "0.8", "0.16", "8"),
      tier(128_000, "1.2", "0.16", "16"),
      tier(256_000, "2.4", "0.16", "24"),
    ],
  }),
];
