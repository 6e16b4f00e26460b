import { sweepReservations } from "@/lib/control/sweep";
import type { WorkerContext } from "../context";
import { forEachOrganisation } from "../context";

/** Ends reservations whose lease ran out. */
export async function reservationSweep(context: WorkerContext): Promise<Record<string, number>> {
  const { deps, metrics } = context.services;
  const expired = await forEachOrganisation(context, "sweep", (id) => sweepReservations(deps, id));
  if (expired > 0) metrics.expired.inc(expired);
  return { expired };
}
