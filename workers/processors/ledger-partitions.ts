import { ensureLedgerPartitions } from "@/lib/control/partitions";
import type { WorkerContext } from "../context";

/** Partitions of the ledger, three months ahead. */
export async function ledgerPartitions(context: WorkerContext): Promise<Record<string, number>> {
  return { created: await ensureLedgerPartitions(context.services.deps) };
}
