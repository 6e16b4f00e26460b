/** What a batch that has ended came to: its lines read, priced one by one at the batch tier, and charged to what was held. */
import type { JobEnd, JobJson, ProviderJob } from "@/lib/db/provider-jobs";
import { averageUsage, finishedLine, statedUsage } from "@/lib/domain/batch-result";
import type { BatchFacts } from "@/lib/domain/provider-job";
import { writtenFileIds } from "@/lib/domain/stored-object";
import { linesOf } from "@/lib/domain/text-lines";
import type { Outcome } from "@/lib/domain/usage-event";
import type { BatchTotal } from "@/lib/pricing/batch-cost";
import { BatchCost } from "@/lib/pricing/batch-cost";
import { PriceError } from "@/lib/pricing/decimal";
import type { HeldJob } from "./job-settlement";
import { heldOf, measuredEnd, unknownEnd } from "./job-settlement";

export type BatchJob = ProviderJob<BatchFacts>;

/** Reads a file of a batch; undefined where the provider has it no more. Throws where it cannot be asked. */
export type ReadBatchFile = (facts: BatchFacts, fileId: string) => Promise<AsyncIterable<Uint8Array> | undefined>;

/** An answer of a model is no longer than that. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;

interface Priced {
  readonly total: BatchTotal;
  readonly isEstimated: boolean;
}

function completedOf(batch: JobJson | null): number {
  const counts = batch?.request_counts;
  return typeof counts === "object" && counts !== null && "completed" in counts ? Number(counts.completed) || 0 : 0;
}

/** Sums over every line of the files; undefined where one of them is gone. */
async function readLines(
  { facts, said }: BatchJob,
  { head }: HeldJob,
  read: ReadBatchFile,
): Promise<Priced | undefined> {
  const cost = new BatchCost(facts.rates, head.reservedAtMs);
  const held = { inputTokens: head.heldInputTokens, outputTokens: head.heldOutputTokens };
  let isEstimated = false;
  const fileIds = writtenFileIds(said ?? {});
  if (fileIds.length === 0 && completedOf(said) > 0) return undefined;
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
function byStatedUsage({ facts, said }: BatchJob, { head }: HeldJob): Priced | undefined {
  const usage = statedUsage(said ?? {}, facts.vendor);
  if (!usage) return undefined;
  const cost = new BatchCost(facts.rates, head.reservedAtMs);
  cost.add(usage);
  const lines = completedOf(said) || facts.lines;
  return { total: { ...cost.total(), lines }, isEstimated: true };
}

function outcomeOf(batch: JobJson | null): Outcome {
  return batch?.status === "cancelled" ? "aborted" : "ok";
}

function measured({ facts, said }: BatchJob, held: HeldJob, { total, isEstimated }: Priced, nowMs: number): JobEnd {
  const { id, status, request_counts: counts } = said ?? {};
  const batch = { id, status, counts, lines: facts.lines, paid: total.lines };
  return measuredEnd(
    held,
    {
      ...{ outcome: outcomeOf(said), isEstimated, decision: "pass", components: total.components },
      ...{ usage: { ...total.usage, requests: total.lines }, priceAmount: total.amount, savedAmount: 0n },
      explanation: { ...facts.explanation, batch },
    },
    nowMs,
  );
}

/**
 * What a batch came to, by its files; by its own words where they are gone; by its hold where it says nothing, or where its price
 * has no rate for what it used. Throws where the provider cannot be asked.
 */
export async function endOfBatch(batch: BatchJob, read: ReadBatchFile, nowMs: number): Promise<JobEnd> {
  const held = heldOf(batch);
  if (!held) return { result: null };
  try {
    const priced = (await readLines(batch, held, read)) ?? byStatedUsage(batch, held);
    if (!priced) return unknownEnd(batch, held, nowMs);
    return priced.total.lines === 0 ? { result: null } : measured(batch, held, priced, nowMs);
  } catch (error) {
    if (error instanceof PriceError) return unknownEnd(batch, held, nowMs);
    throw error;
  }
}
