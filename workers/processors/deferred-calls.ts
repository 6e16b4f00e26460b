import { runDueDeferred, takeOverDeferred } from "@/lib/control/deferred-calls";
import type { WorkerContext } from "../context";
import { forEachOrganisation } from "../context";

/** Takes over what gateways deferred, and runs what is due. */
export async function deferredCalls(context: WorkerContext): Promise<Record<string, number>> {
  const { deferred, deps } = context.services;
  const taken = await forEachOrganisation(context, "taking over deferred calls", (organisationId) =>
    takeOverDeferred(deferred, organisationId),
  );
  const { runs, failed } = await runDueDeferred(deferred);
  for (const { id, error } of failed) deps.log.warn({ err: error, deferredId: id }, "a deferred call could not be run");
  return { taken, runs, failed: failed.length };
}
