import { pruneDeferred } from "@/lib/control/deferred-calls";
import { pruneRecords } from "@/lib/control/prune";
import type { WorkerContext } from "../context";

/** Answers of old writes, old runs of reconciliation, deferred calls whose answers were kept long enough. */
export async function recordPrune(context: WorkerContext): Promise<Record<string, number>> {
  const { deps } = context.services;
  return { ...(await pruneRecords(deps)), deferredCalls: await pruneDeferred(deps) };
}
