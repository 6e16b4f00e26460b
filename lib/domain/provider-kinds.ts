/** The vendors and servers whose API the gateway speaks. Everything else that speaks OpenAI's is `openai-compatible`. */
export const PROVIDER_KINDS = [
  "openai",
  "azure",
  "anthropic",
  "gemini",
  "deepseek",
  "dashscope",
  "zhipu",
  "moonshot",
  "qianfan",
  "ark",
  "vllm",
  "ollama",
  "openai-compatible",
  "sandbox",
] as const;
