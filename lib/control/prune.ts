/** Drops bookkeeping of ours that has done its work. Never money: ledger, audit log and imports stay. */
import { deleteOldIdempotencyRecords } from "@/lib/db/idempotency-records";
import { deleteOldReconciliations } from "@/lib/db/reconciliations";
import type { BookkeepingDeps } from "./bookkeeping";
import { pruneStored } from "./stored-objects";

const DAY_MS = 86_400_000;
/** Nobody repeats a write with the same key after two days. */
const IDEMPOTENCY_MS = 2 * DAY_MS;
/** One run in ten minutes for each account: a quarter of a year is what drift is looked at over. */
const RECONCILIATION_MS = 92 * DAY_MS;
/** Providers drop responses and the files of batches after a month (OpenAI API reference: files, `expires_after`; guide: your data). */
const STORED_MS = 92 * DAY_MS;

/** Returns how many rows went. Safe to repeat. */
export async function pruneRecords(
  deps: Pick<BookkeepingDeps, "db" | "store" | "clock">,
): Promise<Readonly<Record<"idempotencyRecords" | "reconciliations" | "storedObjects" | "providerJobs", number>>> {
  const nowMs = deps.clock.nowMs();
  return {
    idempotencyRecords: await deleteOldIdempotencyRecords(deps.db.prisma, new Date(nowMs - IDEMPOTENCY_MS)),
    reconciliations: await deleteOldReconciliations(deps.db.pool, new Date(nowMs - RECONCILIATION_MS)),
    ...(await pruneStored(deps, nowMs - STORED_MS)),
  };
}
