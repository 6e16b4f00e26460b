import { dispatchAlert } from "@/lib/control/alerts";
import type { JobPayload } from "@/lib/queues/jobs";
import type { WorkerContext } from "../context";

/** Marks an alert as handed out. Channels (mail, chat) hang here. */
export async function alertDispatch(
  context: WorkerContext,
  payload: JobPayload<"alert-dispatch">,
): Promise<Record<string, number>> {
  return { dispatched: (await dispatchAlert(context.services.deps, payload.alertId)) ? 1 : 0 };
}
