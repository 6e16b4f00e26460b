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

export const tokenUsage = z.object({
  inputTokens: z.int().nonnegative(),
  cacheReadTokens: z.int().nonnegative(),
  cacheWriteTokens: z.int().nonnegative(),
  outputTokens: z.int().nonnegative(),
  /** Part of outputTokens. */
  reasoningTokens: z.int().nonnegative(),
});
export type TokenUsage = z.infer<typeof tokenUsage>;

export const costComponent = z.object({
  kind: z.enum(["input", "cache_read", "cache_write", "output", "reasoning", "request"]),
  quantity: z.int().nonnegative(),
  rate: z.string(),
});
export type CostComponent = z.infer<typeof costComponent>;

export const OUTCOMES = ["ok", "aborted", "upstream_error", "unknown", "expired", "reconciled"] as const;
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
