import { pruneDeferred } from "@/lib/control/deferred-calls";
import { pruneRecords } from "@/lib/control/prune";
import { pruneWebhooks } from "@/lib/control/webhook-deliveries";
import type { WorkerContext } from "../context";

/** Answers of old writes, old runs of reconciliation, deferred calls whose answers were kept long enough, webhooks of long ago. */
export async function recordPrune(context: WorkerContext): Promise<Record<string, number>> {
  const { deps } = context.services;
  return {
    ...(await pruneRecords(deps)),
    deferredCalls: await pruneDeferred(deps),
    webhooks: await pruneWebhooks(deps),
  };
}
