/**
 * Real vendors, entered when their key is in the environment. Prices are list prices as of November 2026: check them against
 * the contract in the price book before relying on them. Sources, by vendor:
 *
 * - OpenAI: the public price map of BerriAI/litellm (MIT), edition of 2026-07-24; platform.openai.com.
 * - Anthropic: pricing page of platform.claude.com, November 2026; windows and caps from the same map.
 * - Gemini: the same map; ai.google.dev.
 * - DeepSeek: api-docs.deepseek.com, pricing, November 2026.
 * - DashScope: help.aliyun.com, model pricing (mainland, CNY). Zhipu: docs.bigmodel.cn, pricing (CNY).
 * - Ark: volcengine.com/docs/82379, prices of doubao-seed-1.8 (CNY).
 * - Moonshot: platform.moonshot.cn, pricing.
 */
import type { PROVIDER_KINDS } from "@/lib/domain/provider-kinds";
import type { MODEL_KINDS } from "@/lib/domain/snapshot";
import { ANTHROPIC_MODELS, GEMINI_MODELS, OPENAI_MODELS } from "./vendor-models";
import { ARK_MODELS, DASHSCOPE_MODELS, DEEPSEEK_MODELS, MOONSHOT_MODELS, ZHIPU_MODELS } from "./vendor-models-cn";

export interface Vendor {
  readonly variable: string;
  readonly baseUrlVariable?: string;
  readonly name: string;
  readonly kind: (typeof PROVIDER_KINDS)[number];
  readonly baseUrl: string;
  readonly region?: string;
  readonly currency: "USD" | "CNY";
  readonly models: readonly VendorModel[];
}

export interface VendorModel {
  readonly name: string;
  readonly kind: (typeof MODEL_KINDS)[number];
  readonly maxOutputTokens: number | null;
  readonly contextTokens: number | null;
  /** As a price book writes them: tokens by the million, everything else by the piece. */
  readonly rates: Readonly<Record<string, unknown>>;
}

/** Units of the quote for one of the base, to count prices in another currency by until somebody enters a rate. */
export const VENDOR_FX = { base: "CNY", quote: "USD", rate: "0.14", source: "round figure of November 2026" } as const;

export const VENDORS: readonly Vendor[] = [
  {
    variable: "OPENAI_API_KEY",
    baseUrlVariable: "OPENAI_BASE_URL",
    name: "OpenAI",
    kind: "openai",
    baseUrl: "https://api.openai.com/v1",
    currency: "USD",
    models: OPENAI_MODELS,
  },
  {
    variable: "ANTHROPIC_API_KEY",
    baseUrlVariable: "ANTHROPIC_BASE_URL",
    name: "Anthropic",
    kind: "anthropic",
    baseUrl: "https://api.anthropic.com",
    currency: "USD",
    models: ANTHROPIC_MODELS,
  },
  {
    variable: "GEMINI_API_KEY",
    name: "Gemini",
    kind: "gemini",
    baseUrl: "https://generativelanguage.googleapis.com/v1beta",
    currency: "USD",
    models: GEMINI_MODELS,
  },
  {
    variable: "DEEPSEEK_API_KEY",
    name: "DeepSeek",
    kind: "deepseek",
    baseUrl: "https://api.deepseek.com",
    currency: "USD",
    models: DEEPSEEK_MODELS,
  },
  {
    variable: "DASHSCOPE_API_KEY",
    name: "DashScope",
    kind: "dashscope",
    baseUrl: "https://dashscope.aliyuncs.com/compatible-mode/v1",
    region: "cn",
    currency: "CNY",
    models: DASHSCOPE_MODELS,
  },
  {
    variable: "MOONSHOT_API_KEY",
    name: "Moonshot",
    kind: "moonshot",
    baseUrl: "https://api.moonshot.cn/v1",
    region: "cn",
    currency: "USD",
    models: MOONSHOT_MODELS,
  },
  {
    variable: "ZHIPU_API_KEY",
    name: "Zhipu",
    kind: "zhipu",
    baseUrl: "https://open.bigmodel.cn/api/paas/v4",
    region: "cn",
    currency: "CNY",
    models: ZHIPU_MODELS,
  },
  {
    variable: "ARK_API_KEY",
    name: "Ark",
    kind: "ark",
    baseUrl: "https://ark.cn-beijing.volces.com/api/v3",
    region: "cn-beijing",
    currency: "CNY",
    models: ARK_MODELS,
  },
];
