/** Whose wire format a call speaks: error bodies, headers, and where usage stands in an answer. */

export const VENDORS = [
  "openai",
  "azure",
  "anthropic",
  "gemini",
  "gemini_compat",
  "deepseek",
  "dashscope",
  "zhipu",
  "moonshot",
  "qianfan",
  "ark",
  "xai",
  "vllm",
  "ollama",
] as const;
export type Vendor = (typeof VENDORS)[number];
