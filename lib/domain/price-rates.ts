/**
 * What a price row may say. Every rate is plain decimal text of currency units for one unit of the thing named (one
 * token, one second, one page), so that nothing passes through a double. Absent means unknown, never free; "0" means free
 * on purpose. All fields are optional: a row names what its model sells.
 *
 * The dimensions are those of the vendors' public price lists (OpenAI, Anthropic, Google, Alibaba, DeepSeek, Perplexity,
 * Mistral, Cohere) as the public price map of BerriAI/litellm collects them.
 */
import { z } from "zod";

/** Up to 12 digits before the point and 27 after: the public price map goes down to 23. */
const rate = z.string().regex(/^\d{1,12}(?:\.\d{1,27})?$/u, "rate_malformed");
const multiplier = z.string().regex(/^\d{1,4}(?:\.\d{1,6})?$/u, "multiplier_malformed");
const timeOfDay = z.string().regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/u, "time_malformed");
const date = z.string().regex(/^\d{4}-\d{2}-\d{2}$/u, "date_malformed");

/** Rates of tokens: all that length, service tier and hour may change. */
const tokenRates = {
  inputPerToken: rate.optional(),
  outputPerToken: rate.optional(),
  cacheReadPerToken: rate.optional(),
  /** Also the rate of five-minute writes where a vendor sells two lifetimes. */
  cacheWritePerToken: rate.optional(),
  cacheWrite1hPerToken: rate.optional(),
  reasoningPerToken: rate.optional(),
  audioInputPerToken: rate.optional(),
  audioOutputPerToken: rate.optional(),
  audioCacheReadPerToken: rate.optional(),
  imageInputPerToken: rate.optional(),
  imageOutputPerToken: rate.optional(),
  imageCacheReadPerToken: rate.optional(),
  /** Tokens of cited sources, which Perplexity counts beside the input. */
  citationPerToken: rate.optional(),
};
export const tokenRatesSchema = z.object(tokenRates);
export type TokenRateTexts = z.infer<typeof tokenRatesSchema>;
export type TokenRateName = keyof TokenRateTexts;
export const TOKEN_RATE_NAMES = Object.keys(tokenRates) as readonly TokenRateName[];

/** Rates of whatever is not counted in tokens. */
const unitRates = {
  perRequest: rate.optional(),
  /** A generated picture, whatever its size. */
  perImage: rate.optional(),
  inputPerImage: rate.optional(),
  perPixel: rate.optional(),
  /** Audio sent. */
  inputPerSecond: rate.optional(),
  /** Audio made. */
  outputPerSecond: rate.optional(),
  perVideoSecond: rate.optional(),
  perCharacter: rate.optional(),
  perPage: rate.optional(),
  perAnnotatedPage: rate.optional(),
  /** A search unit of a rerank or search call. */
  perQuery: rate.optional(),
};
export type UnitRateName = keyof typeof unitRates;
export const UNIT_RATE_NAMES = Object.keys(unitRates) as readonly UnitRateName[];

const services = z.record(z.string(), tokenRatesSchema);

/** From a number of input tokens on, cache counts included. A rate that a step leaves out stays what it was below. */
const longContext = z.object({
  /** `whole` (default): the highest step passed prices every token. `graduated`: only the tokens above it. */
  mode: z.enum(["whole", "graduated"]).optional(),
  /** Whether the threshold itself has passed (xAI); by default only more than it. */
  isInclusive: z.boolean().optional(),
  steps: z
    .array(z.object({ ...tokenRates, aboveTokens: z.int().nonnegative(), services: services.optional() }))
    .min(1)
    .max(16),
});

/** A span of the day with rates of its own, peak or off-peak. */
const priceWindow = z.object({
  /** `from` is in the window, `to` is not; from after to wraps midnight, and equal times are the whole day. */
  hours: z
    .array(z.object({ from: timeOfDay, to: timeOfDay }))
    .min(1)
    .max(16),
  /** IANA name or offset of the hours; UTC unless given. */
  timeZone: z.string().optional(),
  /** ISO weekdays (1 Monday to 7 Sunday) of the instant priced; every day unless given. */
  weekdays: z.array(z.int().min(1).max(7)).optional(),
  /** Zone of weekdays and dates; that of the hours unless given. */
  weekdayTimeZone: z.string().optional(),
  /** Dates on which the window stays shut whatever the weekday: public holidays. */
  closedDates: z.array(date).max(1000).optional(),
  /** Dates on which it opens whatever the weekday: working weekends. */
  openDates: z.array(date).max(1000).optional(),
  rates: tokenRatesSchema,
});
export type PriceWindow = z.infer<typeof priceWindow>;

export const priceRatesSchema = z.object({
  ...tokenRates,
  ...unitRates,
  /** Pictures by size ("1024x1024") and quality, the closest match first. */
  images: z
    .array(
      z.object({
        size: z.string().optional(),
        quality: z.string().optional(),
        perImage: rate.optional(),
        perPixel: rate.optional(),
      }),
    )
    .max(200)
    .optional(),
  /** One web search by the amount of context it brings. */
  webSearch: z.object({ low: rate.optional(), medium: rate.optional(), high: rate.optional() }).optional(),
  longContext: longContext.optional(),
  /**
   * One tier for the whole request, by its input tokens: above the last tier's bound, up to and with its own. Above all of
   * them the last one holds. Cache rates that a tier leaves out are its input rate, other rates those of the row.
   */
  inputTiers: z
    .array(z.object({ ...tokenRates, upToTokens: z.int().nonnegative() }))
    .min(1)
    .max(16)
    .optional(),
  /** By the service tier that was served: `flex`, `priority`, `batch`, `scale`, ... */
  services: services.optional(),
  /** Factors on token parts only, never on fees: by region that processed the call, by speed. */
  regionMultipliers: z.record(z.string(), multiplier).optional(),
  speedMultipliers: z.record(z.string(), multiplier).optional(),
  windows: z.array(priceWindow).max(32).optional(),
  /** Thinking is sold as a mode (Alibaba): where there was any, all output takes the reasoning rate. */
  reasoningPricesOutput: z.boolean().optional(),
});
export type PriceRates = z.infer<typeof priceRatesSchema>;
