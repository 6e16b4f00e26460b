import { raiseRecentAlerts } from "@/lib/control/alerts";
import { rollPeriods } from "@/lib/control/period-roll";
import type { WorkerContext } from "../context";
import { forEachOrganisation } from "../context";
import { dispatch } from "./threshold-alerts";

const LOOK_BACK_MS = 2 * 3_600_000;

/** Grants that ended leave the limits, alerts of past periods close, and alerts a dead process had noted are raised. */
export async function periodRoll(context: WorkerContext): Promise<Record<string, number>> {
  const { deps } = context.services;
  const closed = await forEachOrganisation(context, "period roll", (id) => rollPeriods(deps, id));
  const since = new Date(deps.clock.nowMs() - LOOK_BACK_MS);
  const raised = await forEachOrganisation(context, "alerts", async (id) =>
    dispatch(context, await raiseRecentAlerts(deps, id, since)),
  );
  return { closed, raised };
}
