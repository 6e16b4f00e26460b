/** Reads the live counters of budgets. Never writes: scripts alone move money. */
import type { Redis } from "ioredis";
import { nanosFromInteger } from "@/lib/domain/money";
import { keysOf } from "./keys";

export interface CounterRef {
  readonly budgetId: string;
  readonly periodId: string;
}

export interface LiveCounter {
  readonly settled: bigint;
  readonly held: bigint;
}

/**
 * One counter for each reference, in order; null where the period has none yet (nothing was reserved in it). One round
 * trip: all keys of an organisation share a slot. Rejects when Redis cannot answer.
 */
export async function readCounters(
  redis: Redis,
  organisationId: string,
  refs: readonly CounterRef[],
): Promise<(LiveCounter | null)[]> {
  if (refs.length === 0) return [];
  const keys = keysOf(organisationId);
  const pipeline = redis.pipeline();
  for (const ref of refs) pipeline.hmget(keys.counter(ref.budgetId, ref.periodId), "s", "h");
  const answers = (await pipeline.exec()) ?? [];
  return refs.map((_, index) => {
    const [error, values] = answers[index] ?? [new Error("no answer"), null];
    if (error !== null) throw error;
    const [settled, held] = values as [string | null, string | null];
    if (settled === null && held === null) return null;
    return { settled: nanosFromInteger(settled ?? "0"), held: nanosFromInteger(held ?? "0") };
  });
}
