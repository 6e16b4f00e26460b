/** What providers keep and work at, in two ticks: reading a long output must not keep new jobs waiting for their keeper. */
import { keepJobs, workJobs } from "@/lib/control/provider-jobs";
import { restoreRegister, takeOverStored } from "@/lib/control/stored-objects";
import type { WorkerContext } from "../context";
import { forEachOrganisation } from "../context";

/** Takes over what gateways noted and keeps the holds of all jobs. */
export async function storedObjects(context: WorkerContext): Promise<Record<string, number>> {
  const { jobs } = context.services;
  const taken = await forEachOrganisation(context, "taking over stored objects", (organisationId) =>
    takeOverStored(jobs, organisationId),
  );
  const kept = await keepJobs(jobs);
  const restored = await forEachOrganisation(context, "restoring the register", (organisationId) =>
    restoreRegister(jobs, organisationId),
  );
  return { taken, kept, restored };
}

/** Follows batches and background responses to their end and settles them. */
export async function providerJobs({ services }: WorkerContext): Promise<Record<string, number>> {
  return { steps: await workJobs(services.jobs) };
}
