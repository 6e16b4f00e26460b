import { applyCorrections } from "@/lib/control/settlement";
import type { WorkerContext } from "../context";
import { forEachOrganisation } from "../context";

/** Corrections that a process booked and did not live to add to the counters. */
export async function counterCorrections(context: WorkerContext): Promise<Record<string, number>> {
  const { deps } = context.services;
  return { applied: await forEachOrganisation(context, "corrections", (id) => applyCorrections(deps, id)) };
}
