import { raiseFallbackAlerts } from "@/lib/control/fallback-alerts";
import { reconcileOrganisation } from "@/lib/control/reconciliation";
import type { JobPayload } from "@/lib/queues/jobs";
import type { WorkerContext } from "../context";
import { forEachOrganisation } from "../context";
import { dispatch } from "./threshold-alerts";

/** Twice the time between two runs. */
const LOOK_BACK_MS = 1_200_000;

/**
 * Compares the three books of one organisation, or of all, and corrects what the bills prove; tells of calls that no price of
 * the book covered.
 */
export async function ledgerReconcile(
  context: WorkerContext,
  payload: JobPayload<"reconcile">,
): Promise<Record<string, number>> {
  const { deps, metrics } = context.services;
  const run = async (organisationId: string): Promise<number> => {
    const since = new Date(deps.clock.nowMs() - LOOK_BACK_MS);
    await dispatch(context, await raiseFallbackAlerts(deps, organisationId, since), "fallback_price");
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
