import { describe, expect, it } from "vitest";
import type { UsageHints } from "./usage-reader";
import { readUsage } from "./usage-reader";

const plain = (inputTokens: number, outputTokens: number) => ({
  inputTokens,
  outputTokens,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
});

describe("usage of", () => {
  it.each<[string, unknown, UsageHints, object]>([
    [
      "OpenAI chat keeps details as parts",
      {
        usage: {
          prompt_tokens: 100,
          completion_tokens: 50,
          total_tokens: 150,
          prompt_tokens_details: { cached_tokens: 40, audio_tokens: 30, cache_write_tokens: 20 },
          completion_tokens_details: { reasoning_tokens: 10, audio_tokens: 5, rejected_prediction_tokens: 2 },
        },
        service_tier: "fast",
      },
      {},
      {
        ...plain(100, 50),
        cacheReadTokens: 40,
        cacheWriteTokens: 20,
        reasoningTokens: 10,
        audioInputTokens: 30,
        audioOutputTokens: 5,
        serviceTier: "priority",
      },
    ],
    [
      "OpenAI responses counts searches and not the pages opened",
      {
        usage: {
          input_tokens: 10,
          output_tokens: 8,
          total_tokens: 18,
          input_tokens_details: { cached_tokens: 4 },
          output_tokens_details: { reasoning_tokens: 6 },
        },
        service_tier: "default",
        output: [
          { type: "web_search_call", action: { type: "search" } },
          { type: "web_search_call", action: { type: "open_page" } },
          { type: "message" },
        ],
      },
      { asked: { serviceTier: "priority" } },
      { ...plain(10, 8), cacheReadTokens: 4, reasoningTokens: 6, webSearches: 1 },
    ],
    ["OpenAI embeddings has no output", { usage: { prompt_tokens: 7, total_tokens: 7 } }, {}, plain(7, 0)],
    [
      "OpenAI images is pictures, unless it says which part is text",
      { usage: { input_tokens: 370, input_tokens_details: { text_tokens: 47, image_tokens: 323 }, output_tokens: 1056, total_tokens: 1426 } }, // prettier-ignore
      { route: "images" },
      { ...plain(370, 1056), imageInputTokens: 323, imageOutputTokens: 1056 },
    ],
    [
      "OpenAI images with output details",
      { usage: { input_tokens: 10, output_tokens: 100, output_tokens_details: { image_tokens: 90, text_tokens: 10 } } },
      { route: "images" },
      { ...plain(10, 100), imageOutputTokens: 90 },
    ],
    [
      "a picture without usage is what was asked for",
      { data: [{}, {}] },
      { route: "images", asked: { images: [{ count: 2, size: "1024x1024" }] } },
      { ...plain(0, 0), images: [{ count: 2, size: "1024x1024" }] },
    ],
    [
      "a transcription by duration",
      { text: "hi", usage: { type: "duration", seconds: 93.4567 } },
      { route: "transcription", asked: { inputSeconds: 60 } },
      { ...plain(0, 0), inputSeconds: 93.457 },
    ],
    [
      "a transcription by tokens, in the singular",
      { usage: { type: "tokens", input_tokens: 1014, input_token_details: { text_tokens: 14, audio_tokens: 1000 }, output_tokens: 101, total_tokens: 1115 } }, // prettier-ignore
      { route: "transcription" },
      { ...plain(1014, 101), audioInputTokens: 1000 },
    ],
    [
      "speech is sound",
      { type: "speech.audio.done", usage: { input_tokens: 14, output_tokens: 101, total_tokens: 115 } },
      { route: "speech" },
      { ...plain(14, 101), audioOutputTokens: 101 },
    ],
    [
      "Anthropic adds its cache to the input",
      {
        usage: {
          input_tokens: 120,
          cache_creation_input_tokens: 3000,
          cache_read_input_tokens: 15_000,
          cache_creation: { ephemeral_5m_input_tokens: 1000, ephemeral_1h_input_tokens: 2000 },
          output_tokens: 640,
          output_tokens_details: { thinking_tokens: 200 },
          server_tool_use: { web_search_requests: 2, web_fetch_requests: 1 },
          service_tier: "batch",
          inference_geo: "us",
        },
      },
      {},
      {
        ...plain(18_120, 640),
        cacheReadTokens: 15_000,
        cacheWriteTokens: 3000,
        cacheWrite1hTokens: 2000,
        reasoningTokens: 200,
        webSearches: 2,
        serviceTier: "batch",
        region: "us",
      },
    ],
    [
      "Anthropic without cache fields",
      { usage: { input_tokens: 5, output_tokens: 6, service_tier: "standard" } },
      {},
      plain(5, 6),
    ],
    [
      "Anthropic's message_start",
      { type: "message_start", message: { usage: { input_tokens: 5, cache_read_input_tokens: 20, output_tokens: 1 } } },
      {},
      { ...plain(25, 1), cacheReadTokens: 20 },
    ],
    [
      "a gateway that speaks OpenAI and repeats Anthropic's counts",
      { usage: { prompt_tokens: 25, completion_tokens: 1, total_tokens: 26, cache_read_input_tokens: 20, cache_creation_input_tokens: 0 } }, // prettier-ignore
      {},
      { ...plain(25, 1), cacheReadTokens: 20 },
    ],
    [
      "Gemini, by modality, with its tools' prompts",
      {
        usageMetadata: {
          promptTokenCount: 1000,
          toolUsePromptTokenCount: 50,
          cachedContentTokenCount: 300,
          candidatesTokenCount: 90,
          thoughtsTokenCount: 10,
          totalTokenCount: 1150,
          promptTokensDetails: [
            { modality: "TEXT", tokenCount: 600 },
            { modality: "AUDIO", tokenCount: 400 },
          ],
          cacheTokensDetails: [{ modality: "AUDIO", tokenCount: 100 }],
          candidatesTokensDetails: [
            { modality: "IMAGE", tokenCount: 40 },
            { modality: "IMAGE", tokenCount: 30 },
          ],
          trafficType: "ON_DEMAND_PRIORITY",
        },
      },
      {},
      {
        ...plain(1050, 100),
        cacheReadTokens: 300,
        reasoningTokens: 10,
        audioInputTokens: 400,
        audioCacheReadTokens: 100,
        imageOutputTokens: 70,
        serviceTier: "priority",
      },
    ],
    [
      "Gemini behind OpenAI's shape, thoughts only in the total",
      { usage: { prompt_tokens: 758, completion_tokens: 102, total_tokens: 1725 } },
      {},
      plain(758, 967),
    ],
    [
      "xAI, reasoning beside the completion, with a total",
      { usage: { prompt_tokens: 10, completion_tokens: 20, total_tokens: 130, completion_tokens_details: { reasoning_tokens: 100 } } }, // prettier-ignore
      {},
      { ...plain(10, 120), reasoningTokens: 100 },
    ],
    [
      "xAI without a total",
      { usage: { prompt_tokens: 10, completion_tokens: 20, completion_tokens_details: { reasoning_tokens: 100 } } },
      { vendor: "xai" },
      { ...plain(10, 120), reasoningTokens: 100 },
    ],
    [
      "DeepSeek's hits and misses",
      { usage: { completion_tokens: 700, prompt_cache_hit_tokens: 8192, prompt_cache_miss_tokens: 808 } },
      {},
      { ...plain(9000, 700), cacheReadTokens: 8192 },
    ],
    [
      "Moonshot's cached tokens at the top",
      { usage: { prompt_tokens: 100, completion_tokens: 1, cached_tokens: 60 } },
      {},
      { ...plain(100, 1), cacheReadTokens: 60 },
    ],
    [
      "Alibaba's explicit cache",
      { usage: { prompt_tokens: 100, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 0, cache_creation_input_tokens: 80 } } }, // prettier-ignore
      {},
      { ...plain(100, 1), cacheWriteTokens: 80 },
    ],
    [
      "Ark on a bought package",
      { service_tier: "scale", usage: { prompt_tokens: 100, completion_tokens: 1, total_tokens: 101 } },
      {},
      { ...plain(100, 1), serviceTier: "scale" },
    ],
    [
      "Perplexity's deep research",
      { usage: { prompt_tokens: 33, completion_tokens: 7163, total_tokens: 7196, citation_tokens: 19_028, num_search_queries: 21, reasoning_tokens: 193_951 } }, // prettier-ignore
      {},
      { ...plain(33, 201_114), reasoningTokens: 193_951, citationTokens: 19_028, webSearches: 21 },
    ],
    ["Ollama", { done: true, prompt_eval_count: 26, eval_count: 298 }, {}, plain(26, 298)],
    [
      "Cohere's rerank",
      { results: [], meta: { billed_units: { search_units: 3 } } },
      {},
      { ...plain(0, 0), queries: 3 },
    ],
    ["Mistral's OCR", { pages: [{}], usage_info: { pages_processed: 12 } }, {}, { ...plain(0, 0), pages: 12 }],
  ])("%s", (_, body, hints, right) => {
    const reading = readUsage(body, hints);
    expect(reading?.usage).toEqual(right);
    expect(reading?.flags).toEqual([]);
  });
});
