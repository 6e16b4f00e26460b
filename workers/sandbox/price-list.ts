/** What the sandbox sells. Prices are decimal USD per 1,000,000 units: tokens, images, seconds, characters, searches. */
import type { Vendor } from "./vendors";

export type Endpoint =
  "chat" | "embeddings" | "completions" | "images" | "transcriptions" | "speech" | "moderations" | "rerank";

/** What a model may charge for besides plain input, cached input and output. */
export type PricedUnit =
  | "cacheWriteTokens"
  | "cacheWrite1hTokens"
  | "audioInputTokens"
  | "imageInputTokens"
  | "audioOutputTokens"
  | "imageOutputTokens"
  | "seconds"
  | "characters"
  | "searches"
  | "searchUnits";

export interface BasePrices {
  readonly inputPrice: string;
  readonly cachedInputPrice: string;
  readonly outputPrice: string;
}

export interface PriceListEntry extends BasePrices {
  readonly id: string;
  readonly endpoint: Endpoint;
  /** Whose habits its chat answers have on an OpenAI-shaped route; OpenAI's unless it says so. */
  readonly vendor?: Vendor;
  /** A kind of input without a price costs as plain input, a kind of output as output, anything else nothing. */
  readonly unitPrices?: Partial<Readonly<Record<PricedUnit, string>>>;
  /** By quality and size, as `standard/1024x1024`. */
  readonly imagePrices?: Readonly<Record<string, string>>;
  /** Replaces the base prices of a whole call with more prompt tokens than this. */
  readonly longContext?: BasePrices & { readonly overTokens: number };
}

const price = (inputPrice: string, cachedInputPrice: string, outputPrice: string): BasePrices => ({
  inputPrice,
  cachedInputPrice,
  outputPrice,
});
const FREE = price("0", "0", "0");
const WEB_SEARCH = "10000";

export const PRICE_LIST: readonly PriceListEntry[] = [
  { id: "sandbox-large", endpoint: "chat", ...price("2.50", "1.25", "10.00") },
  { id: "sandbox-medium", endpoint: "chat", ...price("0.80", "0.40", "3.20") },
  { id: "sandbox-small", endpoint: "chat", ...price("0.15", "0.075", "0.60") },
  { id: "sandbox-embed", endpoint: "embeddings", ...price("0.02", "0.02", "0") },
  {
    id: "sandbox-omni",
    endpoint: "chat",
    ...price("2.50", "0.25", "10.00"),
    unitPrices: {
      cacheWriteTokens: "3.125",
      audioInputTokens: "40",
      audioOutputTokens: "80",
      imageInputTokens: "5",
      searches: WEB_SEARCH,
    },
  },
  { id: "sandbox-instruct", endpoint: "completions", ...price("1.50", "1.50", "2.00") },
  {
    id: "sandbox-image",
    endpoint: "images",
    ...price("5", "1.25", "40"),
    unitPrices: { imageInputTokens: "10", imageOutputTokens: "40" },
  },
  {
    id: "sandbox-dalle",
    endpoint: "images",
    ...FREE,
    imagePrices: {
      "standard/256x256": "16000",
      "standard/512x512": "18000",
      "standard/1024x1024": "40000",
      "standard/1024x1792": "80000",
      "standard/1792x1024": "80000",
      "hd/1024x1024": "80000",
      "hd/1024x1792": "120000",
      "hd/1792x1024": "120000",
    },
  },
  { id: "sandbox-whisper", endpoint: "transcriptions", ...FREE, unitPrices: { seconds: "100" } },
  {
    id: "sandbox-transcribe",
    endpoint: "transcriptions",
    ...price("2.50", "2.50", "10"),
    unitPrices: { audioInputTokens: "6" },
  },
  { id: "sandbox-tts", endpoint: "speech", ...FREE, unitPrices: { characters: "15" } },
  {
    id: "sandbox-speech",
    endpoint: "speech",
    ...price("0.60", "0.60", "12"),
    unitPrices: { audioOutputTokens: "12" },
  },
  { id: "sandbox-moderation", endpoint: "moderations", ...FREE },
  { id: "sandbox-rerank", endpoint: "rerank", ...FREE, unitPrices: { searchUnits: "2000" } },
  { id: "sandbox-rerank-tokens", endpoint: "rerank", ...price("0.02", "0.02", "0") },
  claude("sandbox-claude-large", "3", "0.30", "15", "3.75", "6"),
  claude("sandbox-claude-small", "1", "0.10", "5", "1.25", "2"),
  {
    id: "sandbox-gemini-pro",
    endpoint: "chat",
    vendor: "gemini_compat",
    ...price("1.25", "0.125", "10"),
    longContext: { overTokens: 200_000, ...price("2.50", "0.25", "15") },
    unitPrices: { searches: "35000" },
  },
  {
    id: "sandbox-gemini-flash",
    endpoint: "chat",
    vendor: "gemini_compat",
    ...price("0.30", "0.03", "2.50"),
    unitPrices: { audioInputTokens: "1", searches: "35000" },
  },
  { id: "sandbox-deepseek", endpoint: "chat", vendor: "deepseek", ...price("0.15", "0.003", "0.60") },
  {
    id: "sandbox-qwen",
    endpoint: "chat",
    vendor: "dashscope",
    ...price("0.40", "0.08", "1.20"),
    unitPrices: { cacheWriteTokens: "0.50" },
  },
  { id: "sandbox-glm", endpoint: "chat", vendor: "zhipu", ...price("1.20", "0.30", "4.20") },
  { id: "sandbox-kimi", endpoint: "chat", vendor: "moonshot", ...price("0.95", "0.16", "4") },
  { id: "sandbox-ernie", endpoint: "chat", vendor: "qianfan", ...price("0.60", "0.60", "2.40") },
  { id: "sandbox-doubao", endpoint: "chat", vendor: "ark", ...price("0.25", "0.05", "2") },
  { id: "sandbox-grok", endpoint: "chat", vendor: "xai", ...price("3", "0.75", "15") },
  { id: "sandbox-vllm", endpoint: "chat", vendor: "vllm", ...price("0.10", "0.10", "0.40") },
  { id: "sandbox-llama", endpoint: "chat", vendor: "ollama", ...FREE },
];

function claude(
  id: string,
  input: string,
  cached: string,
  output: string,
  write5m: string,
  write1h: string,
): PriceListEntry {
  const unitPrices = { cacheWriteTokens: write5m, cacheWrite1hTokens: write1h, searches: WEB_SEARCH };
  return { id, endpoint: "chat", ...price(input, cached, output), unitPrices };
}
