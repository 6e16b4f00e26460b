import { drainRefusals } from "@/lib/control/refusals";
import { usageLength } from "@/lib/redis/usage-stream";
import type { WorkerContext } from "../context";
import { forEachOrganisation } from "../context";

/** Refused calls to Postgres, and how far settlement is behind. */
export async function refusalDrain(context: WorkerContext): Promise<Record<string, number>> {
  const { deps, metrics } = context.services;
  const moved = await forEachOrganisation(context, "refusals", async (id) => {
    metrics.streamLength.set({ organisation: id }, await usageLength(deps.store.redis, id));
    return drainRefusals(deps, id);
  });
  return { moved };
}
