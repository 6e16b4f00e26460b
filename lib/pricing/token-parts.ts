/** The tokens of a call by what they are sold as. */
import type { TokenRateName } from "@/lib/domain/price-rates";
import type { CostKind, TokenUsage } from "@/lib/domain/usage-event";
import type { EffectiveRates } from "./effective-rates";

export interface TokenPart {
  readonly kind: CostKind;
  readonly rateName: TokenRateName;
  readonly quantity: number;
}

const part = (kind: CostKind, rateName: TokenRateName, quantity: number): TokenPart => ({ kind, rateName, quantity });

/**
 * Splits the input into parts that add up to it exactly, in the order in which they stand in a context: what was cached
 * comes first. Details are parts of their count: one larger than what is
 * left of it is cut. Cached tokens that must have been sound or pictures (the parts would exceed the whole) are taken as
 * such, at the dearer cached rate.
 */
export function inputParts(usage: TokenUsage): TokenPart[] {
  const total = usage.inputTokens;
  const cacheRead = Math.min(usage.cacheReadTokens, total);
  const cacheWrite = Math.min(usage.cacheWriteTokens, total - cacheRead);
  const cacheWrite1h = Math.min(usage.cacheWrite1hTokens ?? 0, cacheWrite);
  const rest = total - cacheWrite;
  const audio = Math.min(usage.audioInputTokens ?? 0, rest);
  const image = Math.min(usage.imageInputTokens ?? 0, rest - audio);
  let overlap = Math.max(0, cacheRead + audio + image - rest);
  const audioCached = Math.max(Math.min(usage.audioCacheReadTokens ?? 0, audio, cacheRead), Math.min(overlap, audio));
  overlap = Math.max(0, overlap - audioCached);
  const statedImage = Math.min(usage.imageCacheReadTokens ?? 0, image, cacheRead - audioCached);
  const imageCached = Math.max(statedImage, Math.min(overlap, image));
  const audioFresh = audio - audioCached;
  const imageFresh = image - imageCached;
  return [
    part("cache_read", "cacheReadPerToken", cacheRead - audioCached - imageCached),
    part("audio_cache_read", "audioCacheReadPerToken", audioCached),
    part("image_cache_read", "imageCacheReadPerToken", imageCached),
    part("cache_write", "cacheWritePerToken", cacheWrite - cacheWrite1h),
    part("cache_write_1h", "cacheWrite1hPerToken", cacheWrite1h),
    part("input", "inputPerToken", rest - cacheRead - audioFresh - imageFresh),
    part("audio_input", "audioInputPerToken", audioFresh),
    part("image_input", "imageInputPerToken", imageFresh),
  ];
}

/** Reasoning is apart only where it has a rate; where thinking is sold as a mode, all text takes that rate. */
export function outputParts(usage: TokenUsage, rates: EffectiveRates, reasoningPricesOutput: boolean): TokenPart[] {
  const audio = Math.min(usage.audioOutputTokens ?? 0, usage.outputTokens);
  const image = Math.min(usage.imageOutputTokens ?? 0, usage.outputTokens - audio);
  const text = usage.outputTokens - audio - image;
  const stated = rates.reasoningPerToken === undefined ? 0 : Math.min(usage.reasoningTokens, text);
  const reasoning = reasoningPricesOutput && stated > 0 ? text : stated;
  return [
    part("output", "outputPerToken", text - reasoning),
    part("reasoning", "reasoningPerToken", reasoning),
    part("audio_output", "audioOutputPerToken", audio),
    part("image_output", "imageOutputPerToken", image),
  ];
}

/** What of `parts`, laid end to end, lies in [from, to). */
export function cutParts(parts: readonly TokenPart[], from: number, to: number): TokenPart[] {
  let start = 0;
  return parts.map((one) => {
    const end = start + one.quantity;
    const quantity = Math.max(0, Math.min(end, to) - Math.max(start, from));
    start = end;
    return { ...one, quantity };
  });
}
