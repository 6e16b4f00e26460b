/** What a batch that has ended came to: its lines read, priced one by one at the batch tier, and charged to what was held. */
import type { BatchEnd, BatchJson, ProviderBatch } from "@/lib/db/provider-batches";
import { averageUsage, finishedLine, statedUsage } from "@/lib/domain/batch-result";
import type { HeldLine } from "@/lib/domain/expiry";
import { expiryOf } from "@/lib/domain/expiry";
import { meterAmounts } from "@/lib/domain/lines";
import { convertNanos } from "@/lib/domain/money";
import { writtenFileIds } from "@/lib/domain/stored-object";
import type { BatchFacts } from "@/lib/domain/stored-object";
import { linesOf } from "@/lib/domain/text-lines";
import type { EventResult, Outcome, UsageEventHead } from "@/lib/domain/usage-event";
import { usageEventHead } from "@/lib/domain/usage-event";
import type { BatchTotal } from "@/lib/pricing/batch-cost";
import { BatchCost } from "@/lib/pricing/batch-cost";
import { PriceError } from "@/lib/pricing/decimal";
import { heldLines } from "@/lib/redis/sweeper";

/** Reads a file of a batch; undefined where the provider has it no more. Throws where it cannot be asked. */
export type ReadBatchFile = (facts: BatchFacts, fileId: string) => Promise<AsyncIterable<Uint8Array> | undefined>;

/** An answer of a model is no longer than that. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;

interface Priced {
  readonly total: BatchTotal;
  readonly isEstimated: boolean;
}

interface Held {
  readonly head: UsageEventHead;
  readonly lines: readonly HeldLine[];
  readonly rungBasisPoints: number;
  readonly isOverflow: boolean;
}

/** Undefined where the reservation had ended before anybody kept it, or says nothing readable. */
function heldOf({ facts, hold }: ProviderBatch): Held | undefined {
  if (!hold) return undefined;
  const head = usageEventHead.safeParse(JSON.parse(hold.headJson));
  if (!head.success) return undefined;
  const { rungBasisPoints, isOverflow } = hold;
  const lines = heldLines(facts.organisationId, hold.counters, hold.amounts);
  return { head: head.data, lines, rungBasisPoints, isOverflow };
}

function completedOf(batch: BatchJson | null): number {
  const counts = batch?.request_counts;
  return typeof counts === "object" && counts !== null && "completed" in counts ? Number(counts.completed) || 0 : 0;
}

/** Sums over every line of the files; undefined where one of them is gone. */
async function readLines(
  { facts, batch }: ProviderBatch,
  { head }: Held,
  read: ReadBatchFile,
): Promise<Priced | undefined> {
  const cost = new BatchCost(facts.rates, head.reservedAtMs);
  const held = { inputTokens: head.heldInputTokens, outputTokens: head.heldOutputTokens };
  let isEstimated = false;
  const fileIds = writtenFileIds(batch ?? {});
  if (fileIds.length === 0 && completedOf(batch) > 0) return undefined;
  for (const fileId of fileIds) {
    const bytes = await read(facts, fileId);
    if (!bytes) return undefined;
    for await (const text of linesOf(bytes, MAX_LINE_BYTES)) {
      const line = text.trim() === "" ? undefined : finishedLine(text, facts.vendor);
      if (!line) continue;
      isEstimated ||= line.isDoubtful;
      cost.add(line.usage ?? averageUsage(held, facts.lines));
    }
  }
  return { total: cost.total(), isEstimated };
}

/** By what the batch object says of all its lines, where their answers are gone. */
function byStatedUsage({ facts, batch }: ProviderBatch, { head }: Held): Priced | undefined {
  const usage = statedUsage(batch ?? {}, facts.vendor);
  if (!usage) return undefined;
  const cost = new BatchCost(facts.rates, head.reservedAtMs);
  cost.add(usage);
  const lines = completedOf(batch) || facts.lines;
  return { total: { ...cost.total(), lines }, isEstimated: true };
}

function outcomeOf(batch: BatchJson | null): Outcome {
  return batch?.status === "cancelled" ? "aborted" : "ok";
}

function measured(batch: ProviderBatch, held: Held, priced: Priced, nowMs: number): BatchEnd {
  const { head, lines, rungBasisPoints, isOverflow } = held;
  const { total, isEstimated } = priced;
  const { components } = total;
  const usage = { ...total.usage, requests: total.lines };
  const amount = head.fxRate === null ? total.amount : convertNanos(total.amount, head.fxRate, "halfEven");
  const amounts = meterAmounts(amount, usage.inputTokens, usage.outputTokens, usage.requests);
  const { id, status, request_counts: counts } = batch.batch ?? {};
  const result: EventResult = {
    ...{ kind: "settled", settledAtMs: nowMs, outcome: outcomeOf(batch.batch), isEstimated, isOverflow },
    ...{ decision: "pass", rungBasisPoints, usage, components, savedAmount: "0" },
    ...{ priceAmount: total.amount.toString(), amount: amount.toString() },
    lines: lines.map(({ budgetId, periodId, meter }) => ({
      ...{ b: budgetId, p: periodId, m: meter, a: amounts[meter].toString() },
    })),
    ...{ latencyMs: Math.max(0, nowMs - head.reservedAtMs), firstByteMs: null, statusCode: 200 },
    explanation: {
      ...batch.facts.explanation,
      batch: { id, status, counts, lines: batch.facts.lines, paid: total.lines },
    },
  };
  return { result };
}

/** Nobody can say any more what was used: as of any call whose end nobody saw. */
function unknown(batch: ProviderBatch, held: Held, nowMs: number): BatchEnd {
  const { event } = expiryOf({ ...held, counted: null }, (usage) => inputAlone(batch, held, usage), nowMs);
  const result: EventResult = {
    ...event,
    kind: "settled",
    explanation: { ...batch.facts.explanation, ...event.explanation },
  };
  return { result };
}

function inputAlone({ facts }: ProviderBatch, { head }: Held, usage: Parameters<BatchCost["add"]>[0]) {
  try {
    const cost = new BatchCost(facts.rates, head.reservedAtMs);
    cost.add(usage);
    return cost.total();
  } catch (error) {
    if (error instanceof PriceError) return null;
    throw error;
  }
}

/**
 * What a batch came to, by its files; by its own words where they are gone; by its hold where it says nothing, or where its price
 * has no rate for what it used. Throws where the provider cannot be asked.
 */
export async function endOfBatch(batch: ProviderBatch, read: ReadBatchFile, nowMs: number): Promise<BatchEnd> {
  const held = heldOf(batch);
  if (!held) return { result: null };
  try {
    const priced = (await readLines(batch, held, read)) ?? byStatedUsage(batch, held);
    if (!priced) return unknown(batch, held, nowMs);
    return priced.total.lines === 0 ? { result: null } : measured(batch, held, priced, nowMs);
  } catch (error) {
    if (error instanceof PriceError) return unknown(batch, held, nowMs);
    throw error;
  }
}

/** Of a batch of which the provider says nothing, for too long. */
export function endUnseen(batch: ProviderBatch, nowMs: number): BatchEnd {
  const held = heldOf(batch);
  return held ? unknown(batch, held, nowMs) : { result: null };
}
