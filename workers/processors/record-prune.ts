import { pruneRecords } from "@/lib/control/prune";
import type { WorkerContext } from "../context";

/** Answers of old writes and old runs of reconciliation. */
export async function recordPrune(context: WorkerContext): Promise<Record<string, number>> {
  return { ...(await pruneRecords(context.services.deps)) };
}
