/**
 * The one reader of usage: any vendor's answer to a TokenUsage. Pure, and driven by `usage-shapes.ts`.
 *
 * Rules:
 * - Details are parts of their count and never added to it, but where a vendor counts beside (Anthropic's cache, Gemini's
 *   thoughts, xAI's and Perplexity's reasoning).
 * - A total above input and output means hidden output (Gemini and xAI behind OpenAI's shape): the difference is billed as output.
 * - Nothing impossible gets through: negative, broken, absurd and oversized counts are dropped or cut, and flagged. A flagged
 *   reading is an estimate until the provider's bill confirms it.
 */
import type { TokenUsage } from "./usage-event";
import { withIterations } from "./usage-iterations";
import { UNIT_PATHS, USAGE_SHAPES, USAGE_SPOTS } from "./usage-shapes";
import type { UsageShape } from "./usage-shapes";

export type UsageFlag =
  /** Below zero: taken as nothing. */
  | "negative"
  /** A fraction of a token: rounded up. */
  | "not_whole"
  /** Not a number, or more than any call can have: taken as not stated. */
  | "unreadable"
  /** Parts that exceed their whole: cut to it. */
  | "parts_above_whole"
  /** A total below its parts: ignored. */
  | "total_below_parts";

export interface UsageHints {
  /** Route of the call. On `images`, `speech` and `videos` what is made is known by it. */
  readonly route?: "images" | "speech" | "transcription" | "videos";
  /** Kind of the provider. `xai` and `perplexity` count reasoning beside the completion. */
  readonly vendor?: string;
  /**
   * What the request says and the answer may not: the characters to speak, the pictures asked for, the seconds of the sound
   * sent, one web search of a search model and its context, the tier of a batch, the region of the deployment. The answer wins.
   */
  readonly asked?: AskedUse;
}

/** All that is not counted in tokens. */
export type AskedUse = Partial<Omit<TokenUsage, `${string}Tokens`>>;

export interface UsageReading {
  readonly usage: TokenUsage;
  readonly flags: readonly UsageFlag[];
  /** The usage object as it came, to be kept beside a flagged reading. */
  readonly raw: Readonly<Record<string, unknown>>;
}

type Members = Readonly<Record<string, unknown>>;

/** More tokens than any model takes or makes in one call. */
const MAX_COUNT = 1_000_000_000;

/**
 * What an answer that was served, or an event of its stream, says was used. Undefined where it says nothing usable: no usage object, or zeros
 * only (a server that does not count says nothing by it); the caller counts itself then, and marks it estimated.
 */
export function readUsage(body: unknown, hints: UsageHints = {}): UsageReading | undefined {
  if (!isObject(body)) return undefined;
  const found = findUsage(body) ?? (hints.asked ? {} : undefined);
  if (found === undefined) return undefined;
  const raw = withIterations(found);
  const flags = new Set<UsageFlag>();
  const count = countOf(raw, flags);
  const shape = shapeOf(raw);
  const tokens = readTokens(shape, count, flags, hints);
  const units = readUnits(raw, body, count, flags, hints);
  const usage: TokenUsage = { ...tokens, ...units, ...servedAs(raw, body, hints) };
  if (isNothing(usage)) return undefined;
  return { usage, flags: [...flags], raw };
}

/** The usage object of an answer or event, wherever its vendor puts it. */
export function findUsage(body: unknown): Members | undefined {
  for (const spot of USAGE_SPOTS) {
    const found = at(body, spot);
    if (isObject(found)) return found;
  }
  return isObject(body) && ("prompt_eval_count" in body || "eval_count" in body) ? body : undefined;
}

/**
 * Usage of a stream so far and of its next event. Usage that comes more than once is cumulative: what the newer one states
 * replaces the older, what it leaves out stays (Anthropic's message_delta repeats only some counts).
 */
export function mergeUsage(seen: Members | undefined, next: Members): Members {
  const stated = Object.entries(next).filter(([, value]) => value !== null && value !== undefined);
  return { ...seen, ...Object.fromEntries(stated) };
}

type Count = (paths: readonly string[] | undefined) => number | undefined;

function readTokens(shape: UsageShape, count: Count, flags: Set<UsageFlag>, hints: UsageHints): TokenUsage {
  const part = (paths: readonly string[] | undefined, whole: number): number => cut(count(paths) ?? 0, whole, flags);
  const statedRead = count(shape.cacheRead) ?? 0;
  const write = Math.max(count(shape.cacheWrite) ?? 0, writesByLifetime(shape, count));
  const fresh = count(shape.input) ?? statedRead + (count(shape.cacheMiss) ?? 0);
  const stated = fresh + (count(shape.inputBeside) ?? 0);
  const inputTokens = shape.cache === "beside" ? stated + statedRead + write : stated;
  const output = readOutput(shape, count, flags, { inputTokens, vendor: hints.vendor });
  const cacheReadTokens = cut(statedRead, inputTokens, flags);
  const cacheWriteTokens = cut(write, inputTokens - cacheReadTokens, flags);
  const audioInputTokens = part(shape.audioInput, inputTokens);
  const imageInputTokens = part(shape.imageInput, inputTokens - audioInputTokens);
  if (cacheReadTokens + cacheWriteTokens + audioInputTokens + imageInputTokens > inputTokens) {
    const isExplained = (count(shape.audioCacheRead) ?? count(shape.imageCacheRead)) !== undefined;
    if (!isExplained) flags.add("parts_above_whole");
  }
  const made = readMade(shape, count, flags, { outputTokens: output.outputTokens, route: hints.route });
  return {
    inputTokens,
    cacheReadTokens,
    cacheWriteTokens,
    outputTokens: output.outputTokens,
    reasoningTokens: output.reasoningTokens,
    ...present({
      cacheWrite1hTokens: part(shape.cacheWrite1h, cacheWriteTokens),
      audioInputTokens,
      imageInputTokens,
      audioCacheReadTokens: part(shape.audioCacheRead, Math.min(audioInputTokens, cacheReadTokens)),
      imageCacheReadTokens: part(shape.imageCacheRead, Math.min(imageInputTokens, cacheReadTokens)),
      ...made,
    }),
  };
}

/** Anthropic splits its writes by lifetime; the sum and the parts do not always come together. */
function writesByLifetime(shape: UsageShape, count: Count): number {
  if (shape.name !== "anthropic") return 0;
  return (count(["cache_creation.ephemeral_5m_input_tokens"]) ?? 0) + (count(shape.cacheWrite1h) ?? 0);
}

function readOutput(
  shape: UsageShape,
  count: Count,
  flags: Set<UsageFlag>,
  context: { readonly inputTokens: number; readonly vendor: string | undefined },
): { outputTokens: number; reasoningTokens: number } {
  const { inputTokens, vendor } = context;
  const completion = count(shape.output) ?? 0;
  const total = count(shape.total);
  // Perplexity's own spot; beside the completion, and not in the total.
  const apart = shape.name === "openai" ? count(["reasoning_tokens"]) : undefined;
  const reasoning = apart ?? count(shape.reasoning) ?? 0;
  const accounted = total === undefined ? undefined : total - inputTokens;
  if (accounted !== undefined && accounted < completion) flags.add("total_below_parts");
  const isBeside =
    apart !== undefined ? vendor === "perplexity" || apart > completion : (shape.reasoningBeside ?? vendor === "xai");
  let outputTokens = completion;
  // Where the total is exactly input and completion, the reasoning is in the completion after all.
  const isCounted = apart === undefined && accounted === completion;
  if (isBeside && !isCounted) outputTokens += reasoning;
  const isTotalRight = accounted !== undefined && accounted >= completion;
  if (isTotalRight && apart === undefined) outputTokens = accounted;
  else if (isTotalRight) outputTokens = Math.max(outputTokens, accounted);
  return { outputTokens, reasoningTokens: cut(reasoning, outputTokens, flags) };
}

function readMade(
  shape: UsageShape,
  count: Count,
  flags: Set<UsageFlag>,
  context: { readonly outputTokens: number; readonly route: UsageHints["route"] },
): { audioOutputTokens: number; imageOutputTokens: number } {
  const { outputTokens, route } = context;
  const audio = count(shape.audioOutput);
  const image = count(shape.imageOutput);
  // Routes that make one thing bill all their output as it, unless they say more.
  const isSilent = audio === undefined && image === undefined;
  if (isSilent && route === "images") return { audioOutputTokens: 0, imageOutputTokens: outputTokens };
  if (isSilent && route === "speech") return { audioOutputTokens: outputTokens, imageOutputTokens: 0 };
  const audioOutputTokens = cut(audio ?? 0, outputTokens, flags);
  return { audioOutputTokens, imageOutputTokens: cut(image ?? 0, outputTokens - audioOutputTokens, flags) };
}

function readUnits(
  raw: Members,
  body: Members,
  count: Count,
  flags: Set<UsageFlag>,
  hints: UsageHints,
): Partial<TokenUsage> {
  const seconds = secondsOf(raw.seconds ?? (raw.type === "duration" ? raw.duration : undefined), flags);
  const ofBody = countOf({ meta: body.meta, usage_info: body.usage_info }, flags);
  const { pages, annotatedPages, queries, webSearches, citationTokens } = UNIT_PATHS;
  const searches = count(webSearches) ?? searchCalls(body);
  const { serviceTier: _tier, region: _region, speed: _speed, ...asked } = hints.asked ?? {};
  return {
    ...asked,
    ...present({
      ...(seconds === undefined ? {} : { [hints.route === "videos" ? "videoSeconds" : "inputSeconds"]: seconds }),
      pages: count(pages) ?? ofBody(pages) ?? 0,
      annotatedPages: count(annotatedPages) ?? ofBody(annotatedPages) ?? 0,
      queries: count(queries) ?? ofBody(queries) ?? 0,
      webSearches: searches,
      citationTokens: count(citationTokens) ?? 0,
    }),
  };
}

/** OpenAI's responses list each search; opening a page found before is no search. */
function searchCalls(body: Members): number {
  const output = at(body, "output") ?? at(body, "response.output");
  if (!Array.isArray(output)) return 0;
  return (output as unknown[]).filter((item) => {
    const action = at(item, "action.type");
    return at(item, "type") === "web_search_call" && (action === undefined || action === "search");
  }).length;
}

/** Names of one tier. What is ordinary has no name: it is priced by the row itself. */
const TIERS: Readonly<Record<string, string | undefined>> = {
  default: undefined,
  auto: undefined,
  standard: undefined,
  standard_only: undefined,
  on_demand: undefined,
  fast: "priority",
  batches: "batch",
  on_demand_priority: "priority",
  on_demand_flex: "flex",
};
const WORD = /^[a-z0-9_-]{1,40}$/u;

/** The name under which a tier is priced, however it was said: null for the ordinary one, undefined for what is no name. */
export function pricedTier(said: string): string | null | undefined {
  const stated = word(said);
  if (stated === undefined) return undefined;
  return (Object.hasOwn(TIERS, stated) ? TIERS[stated] : stated) ?? null;
}

/** How the call was served, as the answer says: never as it was asked for, unless the answer is silent. */
function servedAs(raw: Members, body: Members, hints: UsageHints): Partial<TokenUsage> {
  const tier = word(raw.service_tier) ?? word(body.service_tier) ?? word(at(body, "response.service_tier"));
  const stated = tier ?? word(at(body, "message.usage.service_tier")) ?? word(raw.trafficType);
  const named = stated !== undefined && Object.hasOwn(TIERS, stated) ? TIERS[stated] : stated;
  const serviceTier = stated === undefined ? hints.asked?.serviceTier : named;
  const region = word(raw.inference_geo) ?? hints.asked?.region;
  const speed = word(raw.speed) ?? hints.asked?.speed;
  return {
    ...(serviceTier === undefined ? {} : { serviceTier }),
    ...(region === undefined ? {} : { region }),
    ...(speed === undefined ? {} : { speed }),
  };
}

function word(value: unknown): string | undefined {
  const text = typeof value === "string" ? value.toLowerCase() : "";
  return WORD.test(text) ? text : undefined;
}

function shapeOf(raw: Members): UsageShape {
  const isOf = (shape: UsageShape): boolean =>
    (shape.marks.length === 0 || shape.marks.some((mark) => mark in raw)) &&
    !shape.foreign?.some((mark) => mark in raw);
  const found = USAGE_SHAPES.find(isOf);
  if (!found) throw new Error("the last shape takes anything");
  return found;
}

function countOf(raw: Members, flags: Set<UsageFlag>): Count {
  return (paths) => {
    for (const path of paths ?? []) {
      const value = at(raw, path);
      if (value === undefined || value === null) continue;
      const number = whole(value, flags);
      if (number !== undefined) return number;
    }
    return undefined;
  };
}

function whole(value: unknown, flags: Set<UsageFlag>): number | undefined {
  const number = usable(value, flags);
  if (number === undefined || Number.isInteger(number)) return number;
  flags.add("not_whole");
  return Math.ceil(number);
}

function secondsOf(value: unknown, flags: Set<UsageFlag>): number | undefined {
  if (value === undefined || value === null) return undefined;
  const number = usable(typeof value === "string" ? Number(value) : value, flags);
  return number === undefined ? undefined : Math.ceil(number * 1000) / 1000;
}

function usable(value: unknown, flags: Set<UsageFlag>): number | undefined {
  if (typeof value !== "number" || !Number.isFinite(value) || value > MAX_COUNT) {
    flags.add("unreadable");
    return undefined;
  }
  if (value >= 0) return value;
  flags.add("negative");
  return 0;
}

function cut(value: number, whole: number, flags: Set<UsageFlag>): number {
  if (value <= whole) return value;
  flags.add("parts_above_whole");
  return whole;
}

/**
 * A member by dotted path; "-1" is the last element. A list of `{ modality, tokenCount }` (Gemini) is asked by modality;
 * several entries of one modality add up.
 */
function at(value: unknown, path: string): unknown {
  let current = value;
  for (const name of namesOf(path)) {
    if (Array.isArray(current)) current = name === "-1" ? (current as unknown[]).at(-1) : ofModality(current, name);
    else if (isObject(current) && Object.hasOwn(current, name)) current = current[name];
    else return undefined;
  }
  return current;
}

/** Paths are those of the table, and are cut once. */
const cutPaths = new Map<string, readonly string[]>();

function namesOf(path: string): readonly string[] {
  const known = cutPaths.get(path);
  if (known) return known;
  const names = path.split(".");
  cutPaths.set(path, names);
  return names;
}

function ofModality(list: readonly unknown[], modality: string): number | undefined {
  const counts = list.filter((one) => isObject(one) && one.modality === modality).map((one) => at(one, "tokenCount"));
  const numbers = counts.filter((one) => typeof one === "number");
  return numbers.length === 0 ? undefined : numbers.reduce((sum, one) => sum + one, 0);
}

/** Without the zeros: most calls have none of these, and an event should not carry twenty of them. */
function present(counts: Readonly<Record<string, number>>): Partial<TokenUsage> {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
}

function isNothing(usage: TokenUsage): boolean {
  const hasImages = (usage.images ?? []).some((image) => image.count > 0);
  return !hasImages && Object.values(usage).every((value) => typeof value !== "number" || value === 0);
}

function isObject(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
