import type { WorkerContext } from "../context";

/** Pushes what the writers' own push did not bring to Redis. */
export async function snapshotCompile(context: WorkerContext): Promise<Record<string, number>> {
  const { deps, drainChanges } = context.services;
  const { published, failed } = await drainChanges();
  for (const { organisationId, error } of failed) deps.log.warn({ err: error, organisationId }, "publishing failed");
  return { published, failed: failed.length };
}
