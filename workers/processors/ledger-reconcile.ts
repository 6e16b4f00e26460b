import { reconcileOrganisation } from "@/lib/control/reconciliation";
import type { JobPayload } from "@/lib/queues/jobs";
import type { WorkerContext } from "../context";
import { forEachOrganisation } from "../context";

/** Compares the three books of one organisation, or of all, and corrects what the bills prove. */
export async function ledgerReconcile(
  context: WorkerContext,
  payload: JobPayload<"reconcile">,
): Promise<Record<string, number>> {
  const { deps, metrics } = context.services;
  const run = async (organisationId: string): Promise<number> => {
    const result = await reconcileOrganisation(deps, organisationId);
    if (result === null) return 0;
    for (const [currency, drift] of result.driftByCurrency) {
      metrics.drift.set({ organisation: organisationId, currency }, Number(drift));
    }
    return result.corrections;
  };
  const { organisationId } = payload;
  if (organisationId !== undefined) return { corrections: await run(organisationId) };
  return { corrections: await forEachOrganisation(context, "reconcile", run) };
}
