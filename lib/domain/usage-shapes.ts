/**
 * Where each wire format keeps what a call used: one table. A shape says how to recognise its usage object and on which
 * paths its counts stand; the rules that turn them into a TokenUsage are in `usage-reader.ts`.
 *
 * Sources: OpenAI API reference and OpenAPI document (usage of chat, responses, images, transcriptions), Anthropic
 * Messages API and TypeScript SDK, Gemini API `UsageMetadata`, DeepSeek, Alibaba Model Studio, Moonshot, Perplexity, Cohere
 * and Mistral API references, Ollama `docs/api.md`.
 */

/** Dotted member names; the first path with a value wins. */
type Paths = readonly string[];

export interface UsageShape {
  readonly name: "gemini" | "anthropic" | "ollama" | "openai";
  /** The shape's usage object has one of these members. */
  readonly marks: readonly string[];
  /** And none of these. */
  readonly foreign?: readonly string[];
  readonly input: Paths;
  /** Counted beside the input, and billed as input. */
  readonly inputBeside?: Paths;
  readonly output: Paths;
  readonly total?: Paths;
  readonly cacheRead: Paths;
  readonly cacheWrite: Paths;
  readonly cacheWrite1h?: Paths;
  readonly cacheMiss?: Paths;
  readonly reasoning: Paths;
  /** `parts`: cache counts are parts of the input. `beside`: they are not in it. */
  readonly cache: "parts" | "beside";
  /** Gemini counts thoughts beside its candidates; where its total says otherwise, the total is right. */
  readonly reasoningBeside?: boolean;
  readonly audioInput?: Paths;
  readonly audioCacheRead?: Paths;
  readonly audioOutput?: Paths;
  readonly imageInput?: Paths;
  readonly imageCacheRead?: Paths;
  readonly imageOutput?: Paths;
}

/** First match wins. */
export const USAGE_SHAPES: readonly UsageShape[] = [
  {
    name: "gemini",
    marks: ["promptTokenCount", "candidatesTokenCount", "totalTokenCount"],
    input: ["promptTokenCount"],
    inputBeside: ["toolUsePromptTokenCount"],
    // The live API says response instead of candidates.
    output: ["candidatesTokenCount", "responseTokenCount"],
    total: ["totalTokenCount"],
    cacheRead: ["cachedContentTokenCount"],
    cacheWrite: [],
    reasoning: ["thoughtsTokenCount"],
    cache: "parts",
    reasoningBeside: true,
    audioInput: ["promptTokensDetails.AUDIO"],
    audioCacheRead: ["cacheTokensDetails.AUDIO"],
    audioOutput: ["candidatesTokensDetails.AUDIO", "responseTokensDetails.AUDIO"],
    imageInput: ["promptTokensDetails.IMAGE"],
    imageCacheRead: ["cacheTokensDetails.IMAGE"],
    imageOutput: ["candidatesTokensDetails.IMAGE", "responseTokensDetails.IMAGE"],
  },
  {
    name: "anthropic",
    marks: ["cache_read_input_tokens", "cache_creation_input_tokens", "cache_creation"],
    // Gateways that speak OpenAI repeat these counts beside a prompt count that has them in it.
    foreign: ["prompt_tokens"],
    input: ["input_tokens"],
    output: ["output_tokens"],
    cacheRead: ["cache_read_input_tokens"],
    cacheWrite: ["cache_creation_input_tokens"],
    cacheWrite1h: ["cache_creation.ephemeral_1h_input_tokens"],
    reasoning: ["output_tokens_details.thinking_tokens"],
    cache: "beside",
  },
  {
    name: "ollama",
    marks: ["prompt_eval_count", "eval_count"],
    input: ["prompt_eval_count"],
    output: ["eval_count"],
    cacheRead: [],
    cacheWrite: [],
    reasoning: [],
    cache: "parts",
  },
  {
    name: "openai",
    marks: [],
    input: ["prompt_tokens", "input_tokens", "billed_units.input_tokens", "tokens.input_tokens"],
    output: ["completion_tokens", "output_tokens", "billed_units.output_tokens", "tokens.output_tokens"],
    total: ["total_tokens"],
    // DeepSeek's pair first, then the details, then the top level where Moonshot's older models have it.
    cacheRead: [
      "prompt_cache_hit_tokens",
      "prompt_tokens_details.cached_tokens",
      "input_tokens_details.cached_tokens",
      "input_token_details.cached_tokens",
      "cached_tokens",
      "cache_read_input_tokens",
    ],
    cacheMiss: ["prompt_cache_miss_tokens"],
    // Alibaba's explicit cache names its writes as Anthropic does, inside the details.
    cacheWrite: [
      "prompt_tokens_details.cache_write_tokens",
      "input_tokens_details.cache_write_tokens",
      "prompt_tokens_details.cache_creation_input_tokens",
      "cache_creation_input_tokens",
    ],
    reasoning: ["completion_tokens_details.reasoning_tokens", "output_tokens_details.reasoning_tokens"],
    cache: "parts",
    audioInput: [
      "prompt_tokens_details.audio_tokens",
      "input_tokens_details.audio_tokens",
      // Transcriptions write the singular.
      "input_token_details.audio_tokens",
    ],
    audioCacheRead: ["input_token_details.cached_tokens_details.audio_tokens"],
    audioOutput: [
      "completion_tokens_details.audio_tokens",
      "output_tokens_details.audio_tokens",
      "output_token_details.audio_tokens",
    ],
    imageInput: [
      "prompt_tokens_details.image_tokens",
      "input_tokens_details.image_tokens",
      "input_token_details.image_tokens",
    ],
    imageCacheRead: ["input_token_details.cached_tokens_details.image_tokens"],
    imageOutput: ["completion_tokens_details.image_tokens", "output_tokens_details.image_tokens"],
  },
];

/** What is counted beside tokens, in any shape. Seconds, of which there are fractions, are read apart. */
export const UNIT_PATHS = {
  pages: ["usage_info.pages_processed", "pages_processed"],
  annotatedPages: ["usage_info.annotated_pages", "usage_info.pages_annotated"],
  queries: ["meta.billed_units.search_units", "billed_units.search_units"],
  webSearches: ["server_tool_use.web_search_requests", "num_search_queries"],
  citationTokens: ["citation_tokens"],
} as const satisfies Record<string, Paths>;

/** Where usage stands in an answer or in an event of a stream, in this order. */
export const USAGE_SPOTS = [
  "usage",
  // Moonshot's older models: the last chunk's choice.
  "choices.-1.usage",
  "usageMetadata",
  // Anthropic's message_start, the events of OpenAI's responses, vendors' own corners.
  "message.usage",
  "response.usage",
  "x_groq.usage",
  "meta",
  "usage_info",
] as const;
