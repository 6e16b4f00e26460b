/**
 * What an event changes when its attempt is in the ledger already. Knowledge has ranks, and an attempt is corrected only by
 * something that knows better than everything booked so far: so a redelivery, in whatever order, changes nothing.
 *
 * 0 the sweeper's estimate, 1 counted by a gateway (aborted stream), 2 measured by the provider's usage, 3 the provider's bill.
 */
import type { ChargedLine, TokenUsage, UsageEvent } from "./usage-event";

/** How an entry came to know its amount; the fields the ledger keeps. */
export interface Knowledge {
  readonly kind: "usage" | "correction" | "adjustment";
  readonly outcome: string;
  readonly isEstimated: boolean;
}

export function rankOf(entry: Knowledge): number {
  if (entry.outcome === "reconciled") return 3;
  if (!entry.isEstimated) return 2;
  return entry.outcome === "expired" || entry.outcome === "unknown" ? 0 : 1;
}

/** What stands of one attempt: sums over its entries. */
export interface BookedAmounts {
  readonly priceAmount: bigint;
  readonly amount: bigint;
  readonly savedAmount: bigint;
  readonly usage: TokenUsage;
  readonly lines: readonly ChargedLine[];
}

/** Always stated. */
const BASE_FIELDS = ["inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens", "reasoningTokens"] as const;
/** Stated where there is something to state. */
const COUNT_FIELDS = [
  ...(["cacheWrite1hTokens", "audioInputTokens", "audioCacheReadTokens", "audioOutputTokens"] as const),
  ...(["imageInputTokens", "imageCacheReadTokens", "imageOutputTokens", "citationTokens"] as const),
  ...(["inputSeconds", "outputSeconds", "videoSeconds", "characters", "pages", "annotatedPages"] as const),
  ...(["inputImages", "queries", "requests", "webSearches"] as const),
] as const;
/** Not counts: how the call was served. What is told last holds. */
const SERVED_FIELDS = ["webSearchContext", "serviceTier", "region", "speed"] as const;

export function sumBooked(entries: readonly BookedAmounts[]): BookedAmounts {
  return {
    priceAmount: entries.reduce((sum, entry) => sum + entry.priceAmount, 0n),
    amount: entries.reduce((sum, entry) => sum + entry.amount, 0n),
    savedAmount: entries.reduce((sum, entry) => sum + entry.savedAmount, 0n),
    usage: foldUsage(entries.map((entry) => [entry.usage, 1])),
    lines: foldLines(entries.map((entry) => [entry.lines, 1n])),
  };
}

/** What several calls used together. How they were served is as the last of them says. */
export function sumUsage(usages: readonly TokenUsage[]): TokenUsage {
  return foldUsage(usages.map((usage) => [usage, 1]));
}

type UsagePart = readonly [TokenUsage, 1 | -1];

function foldUsage(parts: readonly UsagePart[]): TokenUsage {
  const total = { inputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 0, reasoningTokens: 0 };
  for (const field of BASE_FIELDS) total[field] = sumOf(parts, field);
  const counts = COUNT_FIELDS.map((field) => [field, sumOf(parts, field)] as const).filter(([, sum]) => sum !== 0);
  const images = foldImages(parts);
  const served = SERVED_FIELDS.flatMap((field) => {
    const said = parts.findLast(([usage, sign]) => sign === 1 && usage[field] !== undefined);
    return said === undefined ? [] : [[field, said[0][field]] as const];
  });
  return {
    ...total,
    ...Object.fromEntries(counts),
    ...(images.length === 0 ? {} : { images }),
    ...Object.fromEntries(served),
  };
}

/** Seconds are told to the thousandth; sums of doubles are not. */
function sumOf(parts: readonly UsagePart[], field: (typeof BASE_FIELDS | typeof COUNT_FIELDS)[number]): number {
  const sum = parts.reduce((total, [usage, sign]) => total + sign * (usage[field] || 0), 0);
  return Number.isInteger(sum) ? sum : Math.round(sum * 1000) / 1000;
}

/** Pictures by size and quality. */
function foldImages(parts: readonly UsagePart[]): NonNullable<TokenUsage["images"]> {
  const sums = new Map<string, NonNullable<TokenUsage["images"]>[number]>();
  for (const [usage, sign] of parts) {
    for (const image of usage.images ?? []) {
      const key = `${image.size ?? ""} ${image.quality ?? ""}`;
      sums.set(key, { ...image, count: (sums.get(key)?.count ?? 0) + sign * image.count });
    }
  }
  return [...sums.values()].filter((image) => image.count !== 0);
}

/** Lines summed by budget and period; budgets that come to nothing stay out. */
function foldLines(parts: readonly (readonly [readonly ChargedLine[], bigint])[]): ChargedLine[] {
  const sums = new Map<string, { line: ChargedLine; amount: bigint }>();
  for (const [lines, sign] of parts) {
    for (const line of lines) {
      const key = `${line.b} ${line.p}`;
      const known = sums.get(key);
      sums.set(key, { line, amount: (known?.amount ?? 0n) + sign * BigInt(line.a) });
    }
  }
  return [...sums.values()]
    .filter((sum) => sum.amount !== 0n)
    .map((sum) => ({ ...sum.line, a: sum.amount.toString() }));
}

/** `wanted` minus `booked`. */
export function differenceOf(wanted: BookedAmounts, booked: BookedAmounts): BookedAmounts {
  return {
    priceAmount: wanted.priceAmount - booked.priceAmount,
    amount: wanted.amount - booked.amount,
    savedAmount: wanted.savedAmount - booked.savedAmount,
    usage: foldUsage([
      [wanted.usage, 1],
      [booked.usage, -1],
    ]),
    lines: foldLines([
      [wanted.lines, 1n],
      [booked.lines, -1n],
    ]),
  };
}

export function amountsOf(event: UsageEvent): BookedAmounts {
  return {
    priceAmount: BigInt(event.priceAmount),
    amount: BigInt(event.amount),
    savedAmount: BigInt(event.savedAmount),
    usage: event.usage,
    lines: event.lines,
  };
}

/**
 * The correction an event asks for, as an event that carries differences; null when it tells nothing new.
 * `booked` has at least the attempt's first entry.
 */
export function correctionFor(event: UsageEvent, booked: readonly (Knowledge & BookedAmounts)[]): UsageEvent | null {
  const known = Math.max(...booked.map(rankOf));
  if (rankOf({ kind: "usage", outcome: event.outcome, isEstimated: event.isEstimated }) <= known) return null;
  const difference = differenceOf(amountsOf(event), sumBooked(booked));
  const isSame = difference.amount === 0n && difference.priceAmount === 0n && difference.lines.length === 0;
  return isSame ? null : withAmounts(event, difference);
}

/** The event with other amounts; its hold is not repeated. Components stay those of the whole call: they explain the new sum. */
export function withAmounts(event: UsageEvent, amounts: BookedAmounts): UsageEvent {
  return {
    ...event,
    priceAmount: amounts.priceAmount.toString(),
    amount: amounts.amount.toString(),
    savedAmount: amounts.savedAmount.toString(),
    usage: amounts.usage,
    lines: [...amounts.lines],
    heldAmount: "0",
  };
}
