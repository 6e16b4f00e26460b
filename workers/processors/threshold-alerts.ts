import { raiseThresholdAlerts } from "@/lib/control/alerts";
import type { WorkerContext } from "../context";

/** Looks at every budget that was charged since the last look, and hands new alerts to their queue. */
export async function thresholdAlerts(context: WorkerContext): Promise<Record<string, number>> {
  const { deps } = context.services;
  let raised = 0;
  for (const [organisationId, budgets] of context.touched.take()) {
    try {
      raised += await dispatch(context, await raiseThresholdAlerts(deps, organisationId, budgets));
    } catch (error) {
      // Looked at again with the next batch, and by the hourly roll.
      context.touched.add(organisationId, budgets);
      deps.log.warn({ err: error, organisationId }, "alerts failed");
    }
  }
  return { raised };
}

/** The row stands already; a queue that is away must not lose the others. */
export async function dispatch(
  context: WorkerContext,
  alertIds: readonly string[],
  kind = "threshold",
): Promise<number> {
  for (const alertId of alertIds) {
    context.services.metrics.alerts.inc({ kind });
    await context.producer.enqueue("alert-dispatch", { alertId }, { jobId: alertId });
  }
  return alertIds.length;
}
