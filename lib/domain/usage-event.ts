/**
 * UsageEvent: a measured fact, appended to the organisation's stream by the same script that moves the counters.
 * It is everything the ledger needs; nothing is looked up later. Amounts are decimal integer texts (JSON has no bigint).
 */
import { z } from "zod";
import { METERS } from "./snapshot";

const amount = z.string().regex(/^-?\d{1,19}$/u);

/** What one budget was charged: the period is the one in which the call was reserved. */
export const chargedLine = z.object({ b: z.string(), p: z.string(), m: z.enum(METERS), a: amount });
export type ChargedLine = z.infer<typeof chargedLine>;

export const WEB_SEARCH_CONTEXTS = ["low", "medium", "high"] as const;

/** What was used. The name is older than pictures and pages. */
export const tokenUsage = z.object({
  inputTokens: z.int().nonnegative(),
  cacheReadTokens: z.int().nonnegative(),
  cacheWriteTokens: z.int().nonnegative(),
  outputTokens: z.int().nonnegative(),
  /** Part of outputTokens. */
  reasoningTokens: z.int().nonnegative(),
  // What follows is stated only by models and routes that have it. Token counts are parts of inputTokens and
  // outputTokens, but for citations.
  /** Part of cacheWriteTokens that was written for an hour. */
  cacheWrite1hTokens: z.int().nonnegative().optional(),
  audioInputTokens: z.int().nonnegative().optional(),
  /** Part of audioInputTokens and of cacheReadTokens; likewise for pictures. */
  audioCacheReadTokens: z.int().nonnegative().optional(),
  audioOutputTokens: z.int().nonnegative().optional(),
  imageInputTokens: z.int().nonnegative().optional(),
  imageCacheReadTokens: z.int().nonnegative().optional(),
  imageOutputTokens: z.int().nonnegative().optional(),
  /** Beside inputTokens, never in them. */
  citationTokens: z.int().nonnegative().optional(),
  /** Audio sent, audio made and video made, in seconds to the thousandth. */
  inputSeconds: z.number().nonnegative().optional(),
  outputSeconds: z.number().nonnegative().optional(),
  videoSeconds: z.number().nonnegative().optional(),
  /** Unicode code points. */
  characters: z.int().nonnegative().optional(),
  pages: z.int().nonnegative().optional(),
  annotatedPages: z.int().nonnegative().optional(),
  /** Pictures sent to a model that prices them apart from tokens. */
  inputImages: z.int().nonnegative().optional(),
  /** Pictures made. Without size or quality, or with "auto", they are priced at the dearest that fits. */
  images: z
    .array(z.object({ count: z.int().nonnegative(), size: z.string().optional(), quality: z.string().optional() }))
    .optional(),
  /** Search units of rerank and search routes. */
  queries: z.int().nonnegative().optional(),
  /** Calls that were held as one: the served lines of a batch. One where absent. */
  requests: z.int().nonnegative().optional(),
  webSearches: z.int().nonnegative().optional(),
  webSearchContext: z.enum(WEB_SEARCH_CONTEXTS).optional(),
  /** The service tier as served, where it is not the ordinary one. */
  serviceTier: z.string().optional(),
  region: z.string().optional(),
  speed: z.string().optional(),
});
export type TokenUsage = z.infer<typeof tokenUsage>;

export const COST_KINDS = [
  "input",
  "cache_read",
  "cache_write",
  "cache_write_1h",
  "audio_input",
  "audio_cache_read",
  "image_input",
  "image_cache_read",
  "output",
  "reasoning",
  "audio_output",
  "image_output",
  "citation",
  "input_second",
  "output_second",
  "video_second",
  "character",
  "page",
  "annotated_page",
  "input_image",
  "image",
  "pixel",
  "query",
  "web_search",
  "request",
] as const;
export type CostKind = (typeof COST_KINDS)[number];

/** One part of a cost: quantity x rate x multiplier. Only seconds have quantities that are not whole. */
export const costComponent = z.object({
  kind: z.enum(COST_KINDS),
  quantity: z.number().nonnegative(),
  rate: z.string(),
  /** Regional and speed factors; 1 where absent. */
  multiplier: z.string().optional(),
});
export type CostComponent = z.infer<typeof costComponent>;

/** `shortened`: a stream that ended early because nothing more could be held for it. */
export const OUTCOMES = ["ok", "aborted", "shortened", "upstream_error", "unknown", "expired", "reconciled"] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** Known when the reservation is made; kept with it, so that a dead process's call can still be booked. */
export const usageEventHead = z.object({
  organisationId: z.string(),
  requestId: z.string(),
  attempt: z.int().nonnegative(),
  reservedAtMs: z.number(),
  apiKeyId: z.string(),
  appId: z.string(),
  consumerPath: z.array(z.string()),
  endUser: z.string().nullable(),
  environment: z.string(),
  trafficClass: z.string(),
  route: z.string(),
  isStream: z.boolean(),
  modelRequested: z.string(),
  modelServed: z.string(),
  providerId: z.string().nullable(),
  deploymentId: z.string().nullable(),
  priceId: z.string(),
  priceCurrency: z.string(),
  currency: z.string(),
  fxRate: z.string().nullable(),
  /** What was held, in nanos of `currency`. */
  heldAmount: amount,
  /** Upper bound of input tokens that went into the hold. */
  heldInputTokens: z.int().nonnegative(),
  heldOutputTokens: z.int().nonnegative(),
  /** Of many calls that are held as one. */
  heldRequests: z.int().positive().optional(),
  unknownOutcome: z.enum(["hold", "input"]),
});
export type UsageEventHead = z.infer<typeof usageEventHead>;

export const usageEvent = usageEventHead.extend({
  /** `late`: no open reservation was found; counters were not touched by the script. */
  kind: z.enum(["settled", "expired", "late"]),
  settledAtMs: z.number(),
  outcome: z.enum(OUTCOMES),
  isEstimated: z.boolean(),
  isOverflow: z.boolean(),
  decision: z.enum(["pass", "downgrade", "cache", "static", "deferred"]),
  rungBasisPoints: z.int(),
  usage: tokenUsage,
  components: z.array(costComponent),
  /** Nanos of priceCurrency, then of currency. */
  priceAmount: amount,
  amount,
  savedAmount: amount,
  lines: z.array(chargedLine),
  latencyMs: z.int().nullable(),
  firstByteMs: z.int().nullable(),
  statusCode: z.int().nullable(),
  /** The decision in data, for "why was this downgraded": budget, ratio, rule. */
  explanation: z.record(z.string(), z.unknown()).nullable(),
});
export type UsageEvent = z.infer<typeof usageEvent>;

/** What the end of a reservation adds to its event's head. */
export type EventResult = Omit<UsageEvent, keyof UsageEventHead>;

/** Codes noted beside the refusals for calls that were answered without a provider, and what was decided about those. */
export const NOTE_DECISIONS = { replayed: "replayed", deferred: "deferred", static_answer: "static" } as const;

/** A refused call: no money moved. Best effort, own capped stream. */
export const refusalEvent = z.object({
  organisationId: z.string(),
  requestId: z.string(),
  refusedAtMs: z.number(),
  apiKeyId: z.string().nullable(),
  appId: z.string().nullable(),
  consumerPath: z.array(z.string()),
  environment: z.string().nullable(),
  trafficClass: z.string().nullable(),
  route: z.string(),
  modelRequested: z.string().nullable(),
  statusCode: z.int(),
  code: z.string(),
  budgetId: z.string().nullable(),
  explanation: z.record(z.string(), z.unknown()).nullable(),
});
export type RefusalEvent = z.infer<typeof refusalEvent>;
