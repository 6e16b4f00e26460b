import { createLedgerPartitions } from "@/lib/db/ledger-partitions";
import type { BookkeepingDeps } from "./bookkeeping";

const MONTHS_AHEAD = 3;

/** Makes the partitions of this month and the next three; returns how many were new. Safe to repeat. */
export async function ensureLedgerPartitions(deps: BookkeepingDeps): Promise<number> {
  return createLedgerPartitions(deps.db.pool, new Date(deps.clock.nowMs()), MONTHS_AHEAD + 1);
}
