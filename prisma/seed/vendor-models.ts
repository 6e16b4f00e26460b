/** Models of OpenAI, Anthropic and Google with their list prices in US dollars; where they are from says `vendors.ts`. */
import type { VendorModel } from "./vendors";

type Rates = VendorModel["rates"];

const chat = (name: string, contextTokens: number, maxOutputTokens: number, rates: Rates): VendorModel => ({
  ...{ name, kind: "chat", contextTokens, maxOutputTokens, rates },
});
const other = (name: string, kind: VendorModel["kind"], contextTokens: number | null, rates: Rates): VendorModel => ({
  ...{ name, kind, contextTokens, maxOutputTokens: null, rates },
});

const tokens = (input: string, cacheRead: string, output: string): Rates => ({
  inputPerToken: input,
  cacheReadPerToken: cacheRead,
  outputPerToken: output,
});

export const OPENAI_MODELS: readonly VendorModel[] = [
  chat("gpt-5.6", 1_050_000, 128_000, {
    ...tokens("5", "0.5", "30"),
    cacheWritePerToken: "6.25",
    longContext: {
      steps: [{ aboveTokens: "272000", ...tokens("10", "1", "45"), cacheWritePerToken: "12.5" }],
    },
    services: {
      flex: { ...tokens("2.5", "0.25", "15"), cacheWritePerToken: "3.125" },
      priority: { ...tokens("10", "1", "60"), cacheWritePerToken: "12.5" },
      batch: { inputPerToken: "2.5", outputPerToken: "15" },
    },
  }),
  chat("gpt-5.1", 400_000, 128_000, {
    ...tokens("1.25", "0.125", "10"),
    services: { priority: tokens("2.5", "0.25", "20") },
  }),
  chat("gpt-5-mini", 400_000, 128_000, {
    ...tokens("0.25", "0.025", "2"),
    services: { flex: tokens("0.125", "0.0125", "1"), priority: tokens("0.45", "0.045", "3.6") },
  }),
  chat("gpt-4.1", 1_047_576, 32_768, {
    ...tokens("2", "0.5", "8"),
    services: { priority: tokens("3.5", "0.875", "14"), batch: { inputPerToken: "1", outputPerToken: "4" } },
  }),
  chat("gpt-4o", 128_000, 16_384, {
    ...tokens("2.5", "1.25", "10"),
    services: { priority: tokens("4.25", "2.125", "17"), batch: { inputPerToken: "1.25", outputPerToken: "5" } },
  }),
  chat("gpt-4o-mini", 128_000, 16_384, {
    ...tokens("0.15", "0.075", "0.6"),
    services: { priority: tokens("0.25", "0.125", "1"), batch: { inputPerToken: "0.075", outputPerToken: "0.3" } },
  }),
  other("text-embedding-3-small", "embedding", 8_191, {
    inputPerToken: "0.02",
    services: { batch: { inputPerToken: "0.01" } },
  }),
  other("text-embedding-3-large", "embedding", 8_191, {
    inputPerToken: "0.13",
    services: { batch: { inputPerToken: "0.065" } },
  }),
  other("gpt-image-1", "image", null, {
    inputPerToken: "5",
    cacheReadPerToken: "1.25",
    imageInputPerToken: "10",
    outputPerToken: "40",
    imageOutputPerToken: "40",
  }),
  other("gpt-4o-transcribe", "transcription", 16_000, {
    inputPerToken: "2.5",
    audioInputPerToken: "2.5",
    outputPerToken: "10",
  }),
  other("whisper-1", "transcription", null, { inputPerSecond: "0.0001" }),
  other("tts-1", "speech", null, { perCharacter: "0.000015" }),
  other("omni-moderation-latest", "moderation", 32_768, { inputPerToken: "0", outputPerToken: "0" }),
];

/** Cache writes cost 1.25 (an hour: 2) times the input, reads a tenth, batches half; searches 10 USD a thousand. */
const claude = (input: string, write: string, write1h: string, read: string, output: string): Rates => ({
  ...tokens(input, read, output),
  cacheWritePerToken: write,
  cacheWrite1hPerToken: write1h,
});
const SEARCH = { webSearch: { low: "0.01", medium: "0.01", high: "0.01" } };
const IN_THE_US = { regionMultipliers: { us: "1.1" } };
const OPUS = {
  ...claude("5", "6.25", "10", "0.5", "25"),
  services: { batch: { inputPerToken: "2.5", outputPerToken: "12.5" } },
  ...SEARCH,
  ...IN_THE_US,
};
const SONNET = {
  ...claude("3", "3.75", "6", "0.3", "15"),
  services: { batch: { inputPerToken: "1.5", outputPerToken: "7.5" } },
  ...SEARCH,
};

export const ANTHROPIC_MODELS: readonly VendorModel[] = [
  chat("claude-opus-5", 1_000_000, 128_000, OPUS),
  chat("claude-opus-4-7", 1_000_000, 128_000, { ...OPUS, speedMultipliers: { fast: "6" } }),
  chat("claude-sonnet-4-6", 1_000_000, 64_000, { ...SONNET, ...IN_THE_US }),
  chat("claude-sonnet-4-5", 200_000, 64_000, {
    ...SONNET,
    longContext: { steps: [{ aboveTokens: "200000", ...claude("6", "7.5", "12", "0.6", "22.5") }] },
  }),
  chat("claude-haiku-4-5", 200_000, 64_000, {
    ...claude("1", "1.25", "2", "0.1", "5"),
    services: { batch: { inputPerToken: "0.5", outputPerToken: "2.5" } },
    ...SEARCH,
  }),
];

const perSearch = (rate: string): Rates => ({ webSearch: { low: rate, medium: rate, high: rate } });

export const GEMINI_MODELS: readonly VendorModel[] = [
  chat("gemini-3-pro-preview", 1_048_576, 65_535, {
    ...tokens("2", "0.2", "12"),
    longContext: { steps: [{ aboveTokens: "200000", ...tokens("4", "0.4", "18") }] },
    services: { batch: { inputPerToken: "1", outputPerToken: "6" } },
    ...perSearch("0.014"),
  }),
  chat("gemini-2.5-pro", 1_048_576, 65_535, {
    ...tokens("1.25", "0.125", "10"),
    longContext: { steps: [{ aboveTokens: "200000", ...tokens("2.5", "0.25", "15") }] },
    ...perSearch("0.035"),
  }),
  chat("gemini-2.5-flash", 1_048_576, 65_535, {
    ...tokens("0.3", "0.03", "2.5"),
    audioInputPerToken: "1",
    ...perSearch("0.035"),
  }),
  chat("gemini-2.5-flash-lite", 1_048_576, 65_535, {
    ...tokens("0.1", "0.01", "0.4"),
    audioInputPerToken: "0.3",
    ...perSearch("0.035"),
  }),
  other("gemini-embedding-001", "embedding", 2_048, { inputPerToken: "0.15" }),
];
