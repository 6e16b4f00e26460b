/** Upper bound of output tokens of one picture (OpenAI image generation guide: tokens by quality and size of gpt-image-1). */
import type { ImageOrder } from "./route-request";

/** The dearest of the three sizes 1024x1024, 1024x1536 and 1536x1024. */
const TOKENS_BY_QUALITY: Readonly<Record<string, number>> = { low: 408, medium: 1584, high: 6240 };
const DEAREST = 6240;
const PIXELS_OF_DEAREST = 1024 * 1536;
const TOKENS_PER_PARTIAL = 100;

export function imagesAsked(asked: {
  readonly count: number | null;
  readonly size: string | null;
  readonly quality: string | null;
  readonly partials: number | null;
}): ImageOrder {
  return { count: asked.count ?? 1, size: asked.size, quality: asked.quality, partials: asked.partials ?? 0 };
}

/** Tokens of one picture and its partial pictures; a size beyond the table counts by its pixels. */
export function imageOutputTokens(order: ImageOrder): number {
  const base = TOKENS_BY_QUALITY[order.quality ?? ""] ?? DEAREST;
  const sides = /^(\d{1,5})x(\d{1,5})$/u.exec(order.size ?? "");
  const pixels = sides ? Number(sides[1]) * Number(sides[2]) : PIXELS_OF_DEAREST;
  const scale = Math.max(1, Math.ceil(pixels / PIXELS_OF_DEAREST));
  return base * scale + order.partials * TOKENS_PER_PARTIAL;
}
