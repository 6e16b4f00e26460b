/** Reads a provider's bill from where the last run stopped, and corrects the ledger by it. */
import { z } from "zod";
import { findBooked, insertLedgerRecords, lockCorrections, saveCorrectionSequence } from "@/lib/db/ledger-entries";
import type { LedgerRecord } from "@/lib/db/ledger-entries";
import { withSqlTransaction } from "@/lib/db/pool";
import { findBaseEvents, findLastDetail, listOpenEstimates } from "@/lib/db/reconciliations";
import { billCorrection, NOT_BILLED } from "@/lib/domain/bill";
import type { Organisation } from "@/lib/domain/entities";
import type { BookkeepingDeps } from "./bookkeeping";
import type { TaggedLine } from "./bill-matching";
import { attemptKeyOf, correctionRecord, groupBooked, idOf, matchBill } from "./bill-matching";

/** One line as a provider's bill has it; amounts are integer texts of nanos. */
export interface BillPageLine {
  readonly sequence: number;
  readonly receivedAt: string;
  readonly requestTag: string | null;
  readonly model: string;
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly completionTokens: number;
  readonly amountNanos: string;
}

export interface BillPageOf {
  readonly currency: string;
  readonly firstSequence?: number | undefined;
  readonly nextSequence: number;
  readonly hasMore: boolean;
  readonly lines: readonly BillPageLine[];
}

export interface BillDeps extends BookkeepingDeps {
  readonly fetchBillPage: (baseUrl: string, since: number, limit: number) => Promise<BillPageOf>;
  /** What a signed tag says; undefined where it is not ours. */
  readonly verifyTag: (
    tag: string,
  ) => { readonly reservationId: string; readonly organisationId: string; readonly apiKeyId: string } | undefined;
}

export interface BillRules {
  /** A line is booked without an entry only when it is this old. */
  readonly orphanAgeMs: number;
  /** An estimate that the bill does not mention is undone only when it was booked this long ago. */
  readonly estimateAgeMs: number;
}

/** Kept in the row of each run. */
const cursorSchema = z.object({
  cursor: z.int().nonnegative(),
  billed: z.string().regex(/^\d+$/u),
  /** The bill is known to be whole for calls reserved from here on (Unix ms). */
  horizonMs: z.number(),
});
type Cursor = z.infer<typeof cursorSchema>;

export interface BillRun {
  readonly currency: string;
  /** Nanos of all our lines so far. */
  readonly billed: bigint;
  readonly corrections: number;
  readonly unresolved: number;
  readonly mismatched: number;
  /** Ids of attempts on lines that are not judged yet. */
  readonly next: Cursor;
}

const PAGE_LINES = 1_000;
const ESTIMATES = 1_000;

export async function reconcileProvider(
  deps: BillDeps,
  organisation: Organisation,
  provider: { readonly id: string; readonly baseUrl: string },
  rules: BillRules,
  mayBookOrphans: boolean,
): Promise<BillRun> {
  const parsed = cursorSchema.safeParse(await findLastDetail(deps.db.pool, organisation.id, provider.id));
  const stored = parsed.success ? parsed.data : { cursor: 0, billed: "0", horizonMs: 0 };
  const nowMs = deps.clock.nowMs();
  let start = stored.cursor;
  let horizonMs = stored.horizonMs;
  let page = await deps.fetchBillPage(provider.baseUrl, start, PAGE_LINES);
  if (page.nextSequence < start) {
    // The provider began a new bill; what the old one still had to tell is lost, so estimates of before stay.
    start = 0;
    horizonMs = nowMs;
    page = await deps.fetchBillPage(provider.baseUrl, 0, PAGE_LINES);
  }
  if ((page.firstSequence ?? 1) > start + 1) horizonMs = nowMs;

  let settledCursor: number | undefined;
  let [corrections, unresolved, mismatched] = [0, 0, 0];
  const lines: { sequence: number; amount: bigint }[] = [];
  for (;;) {
    const ours = page.lines.flatMap((line) => taggedLine(deps, organisation.id, line) ?? []);
    const context = {
      organisation,
      providerId: provider.id,
      currency: page.currency,
      orphansBeforeMs: mayBookOrphans ? nowMs - rules.orphanAgeMs : 0,
    };
    const result = await matchBill(deps, context, ours);
    lines.push(...ours.map((line) => ({ sequence: line.sequence, amount: line.billed.amount })));
    corrections += result.corrections;
    unresolved += result.unresolved.length;
    mismatched += result.mismatched;
    if (result.unresolved.length > 0) settledCursor ??= Math.min(...result.unresolved) - 1;
    if (!page.hasMore) break;
    page = await deps.fetchBillPage(provider.baseUrl, page.nextSequence, PAGE_LINES);
  }
  const cursor = settledCursor ?? page.nextSequence;
  if (unresolved === 0) corrections += await undoUnbilled(deps, organisation, provider.id, rules, horizonMs);
  const before = BigInt(stored.billed);
  const sum = (upTo: number) =>
    lines.reduce((total, line) => (line.sequence <= upTo ? total + line.amount : total), before);
  return {
    currency: page.currency,
    billed: sum(Number.MAX_SAFE_INTEGER),
    corrections,
    unresolved,
    mismatched,
    next: { cursor, billed: sum(cursor).toString(), horizonMs },
  };
}

function taggedLine(deps: BillDeps, organisationId: string, line: BillPageLine): TaggedLine | null {
  const tag = line.requestTag === null ? undefined : deps.verifyTag(line.requestTag);
  if (tag?.organisationId !== organisationId || attemptKeyOf(tag.reservationId) === null) return null;
  return {
    sequence: line.sequence,
    receivedAtMs: Date.parse(line.receivedAt),
    reservationId: tag.reservationId,
    apiKeyId: tag.apiKeyId,
    model: line.model,
    billed: {
      amount: BigInt(line.amountNanos),
      inputTokens: line.promptTokens,
      cacheReadTokens: line.cachedTokens,
      outputTokens: line.completionTokens,
    },
  };
}

/**
 * Estimates that the whole bill does not mention: the call never reached the provider. Every billed estimate was confirmed
 * or corrected when its line was read, so what is still an estimate here has no line.
 */
async function undoUnbilled(
  deps: BillDeps,
  organisation: Organisation,
  providerId: string,
  rules: BillRules,
  horizonMs: number,
): Promise<number> {
  const keys = await listOpenEstimates(deps.db.pool, {
    organisationId: organisation.id,
    providerId,
    reservedFrom: new Date(horizonMs),
    bookedBefore: new Date(deps.clock.nowMs() - rules.estimateAgeMs),
    limit: ESTIMATES,
  });
  if (keys.length === 0) return 0;
  return withSqlTransaction(deps.db.pool, async (client) => {
    const before = await lockCorrections(client, organisation.id);
    const booked = groupBooked(await findBooked(client, organisation.id, keys));
    const records: LedgerRecord[] = [];
    let sequence = before;
    for (const base of await findBaseEvents(client, organisation.id, keys)) {
      const entries = booked.get(idOf(base)) ?? [];
      const event = billCorrection(base, entries, NOT_BILLED, deps.clock.nowMs());
      if (event === null) continue;
      const record = correctionRecord(event, entries, sequence + 1n);
      if (record.counterSequence !== null) sequence += 1n;
      records.push(record);
    }
    await insertLedgerRecords(client, organisation.id, records);
    if (sequence > before) await saveCorrectionSequence(client, organisation.id, sequence);
    return records.length;
  });
}
