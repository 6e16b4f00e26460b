/** Files and batches at providers, in two ticks: reading a long output must not keep new batches waiting for their keeper. */
import { keepBatches, workBatches } from "@/lib/control/batches";
import { restoreRegister, takeOverStored } from "@/lib/control/stored-objects";
import type { WorkerContext } from "../context";
import { forEachOrganisation } from "../context";

/** Takes over what gateways noted and keeps the holds of all batches. */
export async function storedObjects(context: WorkerContext): Promise<Record<string, number>> {
  const { batches } = context.services;
  const taken = await forEachOrganisation(context, "taking over files and batches", (organisationId) =>
    takeOverStored(batches, organisationId),
  );
  const kept = await keepBatches(batches);
  const restored = await forEachOrganisation(context, "restoring the register", (organisationId) =>
    restoreRegister(batches, organisationId),
  );
  return { taken, kept, restored };
}

/** Follows batches to their end and settles them. */
export async function providerBatches({ services }: WorkerContext): Promise<Record<string, number>> {
  return { steps: await workBatches(services.batches) };
}
