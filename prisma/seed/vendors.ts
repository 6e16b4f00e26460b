/**
 * Real vendors, made when their key is in the environment. Prices are the vendors' list prices per million tokens as of
 * November 2026 in US dollars: check them against the contract in the price book before relying on them.
 */
export interface Vendor {
  readonly variable: string;
  readonly baseUrlVariable?: string;
  readonly name: string;
  readonly kind: "openai" | "openai-compatible";
  readonly baseUrl: string;
  readonly models: readonly VendorModel[];
}

export interface VendorModel {
  readonly name: string;
  readonly kind: "chat" | "embedding";
  readonly maxOutputTokens: number | null;
  readonly input: string;
  readonly cacheRead?: string;
  readonly output?: string;
}

const chat = (
  name: string,
  maxOutputTokens: number,
  input: string,
  cacheRead: string,
  output: string,
): VendorModel => ({
  name,
  kind: "chat",
  maxOutputTokens,
  input,
  cacheRead,
  output,
});

export const VENDORS: readonly Vendor[] = [
  {
    variable: "OPENAI_API_KEY",
    baseUrlVariable: "OPENAI_BASE_URL",
    name: "OpenAI",
    kind: "openai",
    baseUrl: "https://api.openai.com/v1",
    models: [
      chat("gpt-5.1", 128_000, "1.25", "0.125", "10.00"),
      chat("gpt-5-mini", 128_000, "0.25", "0.025", "2.00"),
      chat("gpt-4.1", 32_768, "2.00", "0.50", "8.00"),
      chat("gpt-4o", 16_384, "2.50", "1.25", "10.00"),
      chat("gpt-4o-mini", 16_384, "0.15", "0.075", "0.60"),
      { name: "text-embedding-3-small", kind: "embedding", maxOutputTokens: null, input: "0.02" },
    ],
  },
  {
    variable: "DEEPSEEK_API_KEY",
    name: "DeepSeek",
    kind: "openai-compatible",
    baseUrl: "https://api.deepseek.com",
    // Peak prices: a hold must not understate what a call at the dear hour costs.
    models: [
      chat("deepseek-flash", 384_000, "0.30", "0.006", "1.20"),
      chat("deepseek-v4-pro", 384_000, "1.32", "0.044", "3.96"),
      chat("deepseek-chat", 8_192, "0.30", "0.028", "1.20"),
    ],
  },
  {
    variable: "MOONSHOT_API_KEY",
    name: "Moonshot",
    kind: "openai-compatible",
    baseUrl: "https://api.moonshot.cn/v1",
    models: [chat("kimi-k3", 128_000, "3.00", "0.30", "15.00"), chat("kimi-k2.6", 128_000, "0.95", "0.16", "4.00")],
  },
  {
    variable: "ZHIPU_API_KEY",
    name: "Zhipu",
    kind: "openai-compatible",
    baseUrl: "https://open.bigmodel.cn/api/paas/v4",
    models: [chat("glm-4.6", 128_000, "0.60", "0.11", "2.20")],
  },
];
