/** Drops bookkeeping of ours that has done its work. Never money: ledger, audit log and imports stay. */
import { deleteOldIdempotencyRecords } from "@/lib/db/idempotency-records";
import { deleteOldReconciliations } from "@/lib/db/reconciliations";
import type { BookkeepingDeps } from "./bookkeeping";

const DAY_MS = 86_400_000;
/** Nobody repeats a write with the same key after two days. */
const IDEMPOTENCY_MS = 2 * DAY_MS;
/** One run in ten minutes for each account: a quarter of a year is what drift is looked at over. */
const RECONCILIATION_MS = 92 * DAY_MS;

/** Returns how many rows went. Safe to repeat. */
export async function pruneRecords(
  deps: Pick<BookkeepingDeps, "db" | "clock">,
): Promise<{ readonly idempotencyRecords: number; readonly reconciliations: number }> {
  const nowMs = deps.clock.nowMs();
  return {
    idempotencyRecords: await deleteOldIdempotencyRecords(deps.db.prisma, new Date(nowMs - IDEMPOTENCY_MS)),
    reconciliations: await deleteOldReconciliations(deps.db.pool, new Date(nowMs - RECONCILIATION_MS)),
  };
}
