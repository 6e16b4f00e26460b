/**
 * One row of the public price map (BerriAI/litellm, model_prices_and_context_window.json) as a price row. Field names and
 * their meaning: that repository's cost calculation and documentation; rates there are USD per unit.
 */
import type { PriceRates, TokenRateName, TokenRateTexts, UnitRateName } from "@/lib/domain/price-rates";
import { priceRatesSchema } from "@/lib/domain/price-rates";
import { plainDecimal, scaleRate } from "./decimal";
import { numberText } from "./number-texts";
import { offPeakWindows } from "./price-map-windows";

type Texts = { [name in TokenRateName]?: string };
type Draft = { -readonly [name in keyof PriceRates]: PriceRates[name] };

/** What converting a row found besides its rates. */
export interface RowNotes {
  /** Problems make the whole map be refused. */
  readonly problems: { readonly field: string; readonly message: string }[];
  /** Price fields that no part of a price row stands for: what they charge for would be free. */
  readonly unread: string[];
}

const TOKEN_FIELDS: Readonly<Record<string, TokenRateName>> = {
  input_cost_per_token: "inputPerToken",
  output_cost_per_token: "outputPerToken",
  cache_read_input_token_cost: "cacheReadPerToken",
  cache_creation_input_token_cost: "cacheWritePerToken",
  // A time to live, not a length.
  cache_creation_input_token_cost_above_1hr: "cacheWrite1hPerToken",
  output_cost_per_reasoning_token: "reasoningPerToken",
  input_cost_per_audio_token: "audioInputPerToken",
  output_cost_per_audio_token: "audioOutputPerToken",
  cache_read_input_audio_token_cost: "audioCacheReadPerToken",
  input_cost_per_image_token: "imageInputPerToken",
  output_cost_per_image_token: "imageOutputPerToken",
  cache_read_input_image_token_cost: "imageCacheReadPerToken",
  citation_cost_per_token: "citationPerToken",
};
const SERVICE_OF_SUFFIX: Readonly<Record<string, string>> = { batches: "batch", flex: "flex", priority: "priority" };
const TOKEN_FIELD = /^(.+?)(?:_above_(\d+)(k?)_tokens)?(?:_(batches|flex|priority))?$/u;
const UNIT_FIELDS: Readonly<Record<string, UnitRateName>> = {
  input_cost_per_request: "perRequest",
  input_cost_per_second: "inputPerSecond",
  input_cost_per_audio_per_second: "inputPerSecond",
  output_cost_per_second: "outputPerSecond",
  output_cost_per_video_per_second: "perVideoSecond",
  input_cost_per_character: "perCharacter",
  input_cost_per_query: "perQuery",
  ocr_cost_per_page: "perPage",
  annotation_cost_per_page: "perAnnotatedPage",
};
/** Read together with others, below. */
const JOINT_FIELDS: ReadonlySet<string> = new Set([
  "input_cost_per_token_cache_hit",
  "cache_creation_input_audio_token_cost",
  "input_cost_per_image",
  "output_cost_per_image",
  "input_cost_per_pixel",
  "output_cost_per_pixel",
  "search_context_cost_per_query",
  "tiered_pricing",
  "off_peak_pricing",
]);
const IS_PRICE = /cost|pricing|multiplier/u;

/** The rates of a row; problems and unread fields are added to `notes`. */
export function ratesOfMapRow(row: Readonly<Record<string, unknown>>, mode: string, notes: RowNotes): PriceRates {
  const read = (field: string): string | undefined => readRate(row, field, notes);
  const draft: Draft = {};
  const steps = new Map<number, { rates: Texts; services: Record<string, Texts> }>();
  const services: Record<string, Texts> = {};
  for (const field of Object.keys(row)) {
    const place = tokenPlace(field);
    const text = place === undefined ? undefined : read(field);
    if (place === undefined || text === undefined) continue;
    const { name, above, service } = place;
    const step = above === undefined ? undefined : (steps.get(above) ?? { rates: {}, services: {} });
    if (above !== undefined && step) steps.set(above, step);
    const within = step ? step.services : services;
    if (service !== undefined) (within[service] ??= {})[name] = text;
    else if (step) step.rates[name] = text;
    else draft[name] = text;
  }
  if (Object.keys(services).length > 0) draft.services = services;
  if (steps.size > 0) {
    draft.longContext = {
      ...(row.litellm_provider === "xai" ? { isInclusive: true } : {}),
      steps: [...steps]
        .sort(([a], [b]) => a - b)
        .map(([aboveTokens, step]) => ({
          aboveTokens,
          ...step.rates,
          ...(Object.keys(step.services).length > 0 ? { services: step.services } : {}),
        })),
    };
  }
  addAliases(draft, read);
  addUnits(draft, mode, row, read);
  addMultipliers(draft, row, notes);
  addNested(draft, row, notes);
  for (const field of Object.keys(row)) if (isUnread(field, row[field])) notes.unread.push(field);
  return checked(draft, notes);
}

function tokenPlace(field: string): { name: TokenRateName; above?: number; service?: string } | undefined {
  const [, base = "", length, thousands, suffix] = TOKEN_FIELD.exec(field) ?? [];
  const name = Object.hasOwn(TOKEN_FIELDS, base) ? TOKEN_FIELDS[base] : undefined;
  if (name === undefined) return undefined;
  const service = suffix === undefined ? undefined : SERVICE_OF_SUFFIX[suffix];
  return {
    name,
    ...(length === undefined ? {} : { above: Number(length) * (thousands === "k" ? 1000 : 1) }),
    ...(service === undefined ? {} : { service }),
  };
}

function addAliases(draft: Draft, read: (field: string) => string | undefined): void {
  // DeepSeek's older name of the same price: used once.
  const hit = read("input_cost_per_token_cache_hit");
  if (hit !== undefined) draft.cacheReadPerToken ??= hit;
  // Rows carry the cached-read price of sound under the name of the write.
  const audio = read("cache_creation_input_audio_token_cost");
  const sound = draft.audioInputPerToken;
  if (audio !== undefined && sound !== undefined && scaleRate(audio) < scaleRate(sound)) {
    draft.audioCacheReadPerToken ??= audio;
  }
}

function addUnits(
  draft: Draft,
  mode: string,
  row: Readonly<Record<string, unknown>>,
  read: (field: string) => string | undefined,
): void {
  for (const field of Object.keys(row)) {
    const name = Object.hasOwn(UNIT_FIELDS, field) ? UNIT_FIELDS[field] : undefined;
    const text = name === undefined ? undefined : read(field);
    if (name !== undefined && text !== undefined) draft[name] ??= text;
  }
  // A transcription row states one price under both names: it is that of the audio sent, charged once.
  if (mode === "audio_transcription" && draft.outputPerSecond !== undefined) {
    draft.inputPerSecond ??= draft.outputPerSecond;
    delete draft.outputPerSecond;
  }
  if (mode === "video_generation" && draft.outputPerSecond !== undefined) {
    draft.perVideoSecond ??= draft.outputPerSecond;
    delete draft.outputPerSecond;
  }
  const isImage = mode.startsWith("image_");
  const made = read("output_cost_per_image") ?? (isImage ? read("input_cost_per_image") : undefined);
  const sent = isImage ? undefined : read("input_cost_per_image");
  const pixel = positive(read("output_cost_per_pixel")) ?? read("input_cost_per_pixel");
  if (made !== undefined) draft.perImage = made;
  if (sent !== undefined) draft.inputPerImage = sent;
  if (pixel !== undefined) draft.perPixel = pixel;
}

function addMultipliers(draft: Draft, row: Readonly<Record<string, unknown>>, notes: RowNotes): void {
  const regions: Record<string, string> = {};
  const speeds: Record<string, string> = {};
  for (const field of Object.keys(row)) {
    const region = /^regional_processing_uplift_multiplier_([a-z]+)$/u.exec(field)?.[1];
    const text = region === undefined ? undefined : readRate(row, field, notes);
    if (region !== undefined && text !== undefined) regions[region] = text;
  }
  const entry = objectOf(row.provider_specific_entry);
  for (const name of Object.keys(entry)) {
    // Other vendors keep words here; numbers are Anthropic's factors.
    const text = rateText(entry[name]);
    if (text !== undefined) (name === "fast" ? speeds : regions)[name] = text;
  }
  if (Object.keys(regions).length > 0) draft.regionMultipliers = regions;
  if (Object.keys(speeds).length > 0) draft.speedMultipliers = speeds;
}

function addNested(draft: Draft, row: Readonly<Record<string, unknown>>, notes: RowNotes): void {
  const search = objectOf(row.search_context_cost_per_query);
  const sizes = (["low", "medium", "high"] as const).flatMap((size) => {
    const text = readRate(search, `search_context_size_${size}`, notes);
    return text === undefined ? [] : [[size, text] as const];
  });
  if (sizes.length > 0) draft.webSearch = Object.fromEntries(sizes);
  const tiers = Array.isArray(row.tiered_pricing) ? (row.tiered_pricing as unknown[]).map(objectOf) : [];
  const byLength = tiers.filter((tier) => tier.range !== undefined);
  const byResults = tiers.filter((tier) => tier.range === undefined);
  if (byLength.length > 0) draft.inputTiers = byLength.map((tier) => inputTier(tier, notes));
  // Searches cost more for more results; how many there will be is not known, so the dearest holds.
  for (const tier of byResults) {
    const text = readRate(tier, "input_cost_per_query", notes);
    if (text !== undefined && scaleRate(text) > scaleRate(draft.perQuery ?? "0")) draft.perQuery = text;
  }
  const windows = offPeakWindows(row.off_peak_pricing, (block) => tokenTexts(block, notes), notes);
  if (windows.length > 0) draft.windows = windows;
  // Alibaba sells thinking as a mode; the map prices the reasoning alone. The dearer reading is kept.
  const rows = [draft, ...(draft.inputTiers ?? [])];
  if (row.litellm_provider === "dashscope" && rows.some((one) => one.reasoningPerToken !== undefined)) {
    draft.reasoningPricesOutput = true;
  }
}

function inputTier(
  tier: Readonly<Record<string, unknown>>,
  notes: RowNotes,
): NonNullable<PriceRates["inputTiers"]>[number] {
  const range: unknown[] = Array.isArray(tier.range) ? tier.range : [];
  const upToTokens = Number(rateText(range[1]) ?? Number.NaN);
  if (!Number.isSafeInteger(upToTokens)) {
    notes.problems.push({ field: "tiered_pricing", message: "a tier needs a range of two whole numbers of tokens" });
  }
  return { ...tokenTexts(tier, notes), upToTokens };
}

function tokenTexts(block: Readonly<Record<string, unknown>>, notes: RowNotes): TokenRateTexts {
  const texts: Texts = {};
  for (const field of Object.keys(block)) {
    const name = Object.hasOwn(TOKEN_FIELDS, field) ? TOKEN_FIELDS[field] : undefined;
    const text = name === undefined ? undefined : readRate(block, field, notes);
    if (name !== undefined && text !== undefined) texts[name] = text;
  }
  return texts;
}

function readRate(row: Readonly<Record<string, unknown>>, field: string, notes: RowNotes): string | undefined {
  const value = row[field];
  // Null is unknown, not free.
  if (value === undefined || value === null) return undefined;
  const text = rateText(value);
  if (text === undefined)
    notes.problems.push({ field, message: "a price is a number of currency units, not negative" });
  return text;
}

/** A number as written, or decimal text, in plain decimal. */
function rateText(value: unknown): string | undefined {
  const text = numberText(value) ?? (typeof value === "string" ? value : undefined);
  return text === undefined ? undefined : plainDecimal(text);
}

function positive(text: string | undefined): string | undefined {
  return text !== undefined && /[1-9]/u.test(text) ? text : undefined;
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

function isUnread(field: string, value: unknown): boolean {
  if (value === null || !IS_PRICE.test(field) || JOINT_FIELDS.has(field) || Object.hasOwn(UNIT_FIELDS, field))
    return false;
  return tokenPlace(field) === undefined && !field.startsWith("regional_processing_uplift_multiplier_");
}

function checked(draft: Draft, notes: RowNotes): PriceRates {
  const parsed = priceRatesSchema.safeParse(draft);
  if (parsed.success) return parsed.data;
  for (const issue of parsed.error.issues) {
    notes.problems.push({ field: issue.path.map(String).join("."), message: issue.message });
  }
  return {};
}
