/**
 * Import of the public price map's JSON format (BerriAI/litellm, model_prices_and_context_window.json). The map is taken
 * whole or not at all: a row that cannot be read refuses the file, with every problem named.
 */
import type { PriceRates } from "@/lib/domain/price-rates";
import { plainDecimal } from "./decimal";
import { numberText, parseKeepingNumbers } from "./number-texts";
import type { RowNotes } from "./price-map-row";
import { ratesOfMapRow } from "./price-map-row";

export interface PriceMapRow {
  readonly key: string;
  readonly provider: string;
  readonly mode: string;
  /** Kind of model in our words. */
  readonly kind: string;
  readonly currency: "USD";
  readonly rates: PriceRates;
  readonly maxInputTokens: number | null;
  readonly maxOutputTokens: number | null;
  /** As written: "2026-03-01". */
  readonly deprecationDate: string | null;
  /** Price fields that nothing here charges by. */
  readonly unread: readonly string[];
}

export interface PriceMapProblem {
  readonly key: string;
  readonly field: string;
  readonly message: string;
}

export type PriceMapReading =
  | {
      readonly ok: true;
      readonly rows: readonly PriceMapRow[];
      /** Keys of models for which the map names no price at all: unknown, not free. */
      readonly unpriced: readonly string[];
      /** Keys that are no models. */
      readonly skipped: readonly string[];
    }
  | { readonly ok: false; readonly problems: readonly PriceMapProblem[] };

const KIND_OF_MODE: Readonly<Record<string, string>> = {
  chat: "chat",
  completion: "chat",
  responses: "chat",
  embedding: "embedding",
  image_generation: "image",
  image_edit: "image",
  audio_transcription: "transcription",
  audio_speech: "speech",
  moderation: "moderation",
  rerank: "rerank",
  search: "search",
  ocr: "ocr",
  video_generation: "video",
  realtime: "realtime",
};
const NOT_MODELS: ReadonlySet<string> = new Set(["sample_spec", "fallback_generalizations", "last_updated"]);
const MAX_ROWS = 50_000;

/** Reads the whole map from its text. Never throws. */
export function readPriceMap(json: string): PriceMapReading {
  let document: unknown;
  try {
    document = parseKeepingNumbers(json);
  } catch {
    return refuse("", "the file is not JSON");
  }
  if (!isObject(document)) return refuse("", "the file is not an object of models");
  const entries = Object.entries(document);
  if (entries.length > MAX_ROWS) return refuse("", `the file has more than ${MAX_ROWS} rows`);
  const rows: PriceMapRow[] = [];
  const problems: PriceMapProblem[] = [];
  const skipped: string[] = [];
  for (const [key, value] of entries) {
    if (NOT_MODELS.has(key) || !isObject(value) || typeof value.litellm_provider !== "string") {
      skipped.push(key);
      continue;
    }
    const notes: RowNotes = { problems: [], unread: [] };
    rows.push(readRow(key, value, value.litellm_provider, notes));
    problems.push(...notes.problems.map((problem) => ({ key, ...problem })));
  }
  if (problems.length > 0) return { ok: false, problems };
  if (rows.length === 0) return refuse("", "the file has no models");
  const sized = withImageSizes(rows);
  const unpriced = sized.filter((row) => Object.keys(row.rates).length === 0).map((row) => row.key);
  return { ok: true, rows: sized.filter((row) => Object.keys(row.rates).length > 0), unpriced, skipped };
}

function refuse(field: string, message: string): PriceMapReading {
  return { ok: false, problems: [{ key: "", field, message }] };
}

function readRow(key: string, row: Readonly<Record<string, unknown>>, provider: string, notes: RowNotes): PriceMapRow {
  const mode = typeof row.mode === "string" ? row.mode : "chat";
  return {
    key,
    provider,
    mode,
    kind: Object.hasOwn(KIND_OF_MODE, mode) ? (KIND_OF_MODE[mode] ?? mode) : mode,
    currency: "USD",
    rates: ratesOfMapRow(row, mode, notes),
    maxInputTokens: wholeNumber(row.max_input_tokens),
    maxOutputTokens: wholeNumber(row.max_output_tokens ?? row.max_tokens),
    deprecationDate: typeof row.deprecation_date === "string" ? row.deprecation_date : null,
    unread: notes.unread,
  };
}

/** Some rows write 200000.0. */
function wholeNumber(value: unknown): number | null {
  const number = Number(plainDecimal(numberText(value) ?? "") ?? Number.NaN);
  return Number.isSafeInteger(number) ? number : null;
}

const SIZED_KEY = /^(?:(.+)\/)?(\d+)-x-(\d+)\/([^/]+)$/u;
const QUALITIES: ReadonlySet<string> = new Set(["standard", "hd", "low", "medium", "high"]);

/**
 * The map prices pictures under keys such as "hd/1024-x-1792/dall-e-3". Those rates are added to the row of the model, by
 * size and quality, where it has one; the keys keep their rows.
 */
function withImageSizes(rows: readonly PriceMapRow[]): PriceMapRow[] {
  const images = new Map<string, NonNullable<PriceRates["images"]>>();
  for (const { key, rates } of rows) {
    const [, head = "", width, height, model] = SIZED_KEY.exec(key) ?? [];
    if (model === undefined || (rates.perImage ?? rates.perPixel) === undefined) continue;
    const parts = head.split("/").filter((part) => part !== "");
    const quality = QUALITIES.has(parts.at(-1) ?? "") ? parts.pop() : undefined;
    const entry = { size: `${width}x${height}`, ...(quality === undefined ? {} : { quality }) };
    const { perImage, perPixel } = rates;
    const rate = perImage === undefined ? { perPixel } : { perImage };
    const name = [...parts, model].join("/");
    images.set(name, [...(images.get(name) ?? []), { ...entry, ...rate }]);
  }
  return rows.map((row) => {
    const own = images.get(row.key);
    return own === undefined ? row : { ...row, rates: { ...row.rates, images: own } };
  });
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
