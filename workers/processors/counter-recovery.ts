import { recoverOrganisation } from "@/lib/control/recovery";
import type { WorkerContext } from "../context";
import { forEachOrganisation } from "../context";

/** One step of recovery for every fenced organisation. */
export async function counterRecovery(context: WorkerContext): Promise<Record<string, number>> {
  const { deps, metrics } = context.services;
  let fenced = 0;
  const recovered = await forEachOrganisation(context, "recovery", async (id) => {
    const outcome = await recoverOrganisation(deps, id, context.fences);
    if (outcome !== "sound") metrics.recoveries.inc({ result: outcome });
    if (outcome !== "sound" && outcome !== "recovered") fenced += 1;
    return outcome === "recovered" ? 1 : 0;
  });
  metrics.fenced.set(fenced);
  return { recovered, fenced };
}
