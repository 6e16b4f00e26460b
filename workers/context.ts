/** What processors and ticks work with. */
import type { TouchedBudgets } from "@/lib/control/alerts";
import type { FenceWatch } from "@/lib/control/recovery";
import type { JobProducer } from "@/lib/queues/producer";
import type { WorkerServices } from "@/lib/wiring/worker";

export interface WorkerContext {
  readonly services: WorkerServices;
  readonly producer: JobProducer;
  readonly touched: TouchedBudgets;
  readonly fences: FenceWatch;
}

/** Runs `work` for every organisation; one that fails is logged and holds up no other. Returns the sum of the results. */
export async function forEachOrganisation(
  context: WorkerContext,
  what: string,
  work: (organisationId: string) => Promise<number>,
): Promise<number> {
  let total = 0;
  for (const organisationId of await context.services.listOrganisations()) {
    try {
      total += await work(organisationId);
    } catch (error) {
      context.services.deps.log.warn({ err: error, organisationId }, `${what} failed`);
    }
  }
  return total;
}
