/** What a call used that is not counted in tokens, and what a row asks for it. */
import type { UnitRateName } from "@/lib/domain/price-rates";
import type { CostKind, TokenUsage } from "@/lib/domain/usage-event";
import { WEB_SEARCH_CONTEXTS } from "@/lib/domain/usage-event";
import type { CompiledRow, ImageRate, Rate } from "./compiled-row";

/**
 * `fee` comes on top of tokens and must have a rate. `extra` comes on top where it has one and is in the tokens otherwise.
 * `input` and `output` are other measures of what tokens measure on that side: a row that was paid by token is not paid
 * again by the second.
 */
export type UnitRole = "fee" | "extra" | "input" | "output";

export interface UnitPart {
  readonly kind: CostKind;
  readonly role: UnitRole;
  readonly quantity: number;
  readonly rate: Rate | undefined;
  /** A picture priced by pixel whose size nobody stated: it may cost anything. */
  readonly isUnsized?: true;
}

type UnitField =
  | "inputSeconds"
  | "outputSeconds"
  | "videoSeconds"
  | "characters"
  | "pages"
  | "annotatedPages"
  | "inputImages"
  | "queries";

interface UnitSpec {
  readonly kind: CostKind;
  readonly role: UnitRole;
  readonly rateName: UnitRateName;
  readonly field: UnitField;
}

const UNITS: readonly UnitSpec[] = [
  { kind: "input_second", role: "input", rateName: "inputPerSecond", field: "inputSeconds" },
  { kind: "character", role: "input", rateName: "perCharacter", field: "characters" },
  { kind: "output_second", role: "output", rateName: "outputPerSecond", field: "outputSeconds" },
  { kind: "video_second", role: "fee", rateName: "perVideoSecond", field: "videoSeconds" },
  { kind: "page", role: "fee", rateName: "perPage", field: "pages" },
  { kind: "annotated_page", role: "fee", rateName: "perAnnotatedPage", field: "annotatedPages" },
  { kind: "input_image", role: "extra", rateName: "inputPerImage", field: "inputImages" },
  { kind: "query", role: "extra", rateName: "perQuery", field: "queries" },
];

/** Parts with a quantity, rated or not. */
export function unitParts(row: CompiledRow, usage: Partial<TokenUsage>): UnitPart[] {
  const parts: UnitPart[] = UNITS.flatMap(({ kind, role, rateName, field }) => {
    const quantity = usage[field] ?? 0;
    return quantity === 0 ? [] : [{ kind, role, quantity, rate: row.units[rateName] }];
  });
  for (const image of usage.images ?? []) if (image.count > 0) parts.push(imagePart(row, image));
  const searches = usage.webSearches ?? 0;
  if (searches > 0) {
    const rate = searchRate(row, usage.webSearchContext);
    parts.push({ kind: "web_search", role: "fee", quantity: searches, rate });
  }
  if (row.units.perRequest) parts.push({ kind: "request", role: "fee", quantity: 1, rate: row.units.perRequest });
  return parts;
}

/** Medium is what vendors search with unless asked (OpenAI); a row without that context asks its dearest. */
function searchRate(row: CompiledRow, context: TokenUsage["webSearchContext"]): Rate | undefined {
  return row.webSearch[context ?? "medium"] ?? dearest(WEB_SEARCH_CONTEXTS.map((name) => row.webSearch[name]));
}

function dearest(rates: readonly (Rate | undefined)[]): Rate | undefined {
  return rates.reduce((high, rate) => (high && (!rate || rate.value <= high.value) ? high : rate), undefined);
}

type ImageUse = NonNullable<TokenUsage["images"]>[number];

/**
 * The entries that fit, the closest of them where size and quality are both known. What is not known, or "auto", may turn
 * out to be any of them, so the dearest is taken.
 */
function imagePart(row: CompiledRow, image: ImageUse): UnitPart {
  const size = known(image.size);
  const quality = known(image.quality);
  const none: UnitPart = { kind: "image", role: "output", quantity: image.count, rate: undefined };
  const fitting = row.images.filter((entry) => fits(entry.size, size) && fits(entry.quality, quality));
  const closeness = (entry: ImageRate): number => Number(entry.size === size) + Number(entry.quality === quality);
  const isKnown = size !== undefined && quality !== undefined;
  const closest = isKnown ? Math.max(...fitting.map(closeness)) : 0;
  const listed = fitting
    .filter((entry) => !isKnown || closeness(entry) === closest)
    .flatMap((one) => priced(one, image));
  const ofRow = priced(rowImageRates(row), image);
  if (size === undefined && [...fitting, rowImageRates(row)].some(isByPixelAlone)) return { ...none, isUnsized: true };
  const candidates = isKnown && listed.length > 0 ? listed : [...listed, ...ofRow];
  return candidates.reduce((high, one) => (high.rate === undefined || cost(one) > cost(high) ? one : high), none);
}

function rowImageRates(row: CompiledRow): ImageRate {
  const { perImage, perPixel } = row.units;
  return { size: undefined, quality: undefined, perImage, perPixel };
}

function isByPixelAlone(entry: ImageRate): boolean {
  return entry.perPixel !== undefined && entry.perImage === undefined && pixelsOf(entry.size) === undefined;
}

function priced(entry: ImageRate, image: ImageUse): UnitPart[] {
  if (entry.perImage) return [{ kind: "image", role: "output", quantity: image.count, rate: entry.perImage }];
  const pixels = pixelsOf(known(image.size) ?? entry.size);
  if (!entry.perPixel || pixels === undefined) return [];
  return [{ kind: "pixel", role: "output", quantity: image.count * pixels, rate: entry.perPixel }];
}

function cost(part: UnitPart): bigint {
  return BigInt(part.quantity) * (part.rate?.value ?? 0n);
}

function known(text: string | undefined): string | undefined {
  return text === undefined || text === "auto" ? undefined : text;
}

function fits(listed: string | undefined, asked: string | undefined): boolean {
  return listed === undefined || asked === undefined || listed === asked;
}

/** "1024x1536" in pixels; undefined for anything else. */
function pixelsOf(size: string | undefined): number | undefined {
  const match = /^(\d{1,5})x(\d{1,5})$/u.exec(size ?? "");
  return match ? Number(match[1]) * Number(match[2]) : undefined;
}
