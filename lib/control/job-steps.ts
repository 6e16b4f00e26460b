/** What the steps of every provider's job share: who is asked, and what a step comes to. */
import type { JobEnd, JobJson, JobStep, ProviderJob } from "@/lib/db/provider-jobs";
import { upsertStoredObjects } from "@/lib/db/stored-objects";
import type { BatchFacts, ResponseFacts } from "@/lib/domain/provider-job";
import type { StoredObject } from "@/lib/domain/stored-object";
import { tellGateways } from "@/lib/redis/stored-objects";
import type { JobKeeper } from "./job-keeper";
import type { ReadBatchFile } from "./batch-settlement";
import type { BookkeepingDeps } from "./bookkeeping";

/** The provider of a job. All throw where it cannot be asked. */
export interface JobProvider {
  /** Undefined where it does not know the batch. */
  readonly batch: (facts: BatchFacts, id: string) => Promise<JobJson | undefined>;
  /** The newest batches of its account. */
  readonly recent: (facts: BatchFacts) => Promise<readonly JobJson[]>;
  readonly file: ReadBatchFile;
  /** Undefined where it does not know the response. */
  readonly response: (facts: ResponseFacts, id: string) => Promise<JobJson | undefined>;
  /** Ends a response that runs; how it stands then, undefined where it is not known. */
  readonly cancelResponse: (facts: ResponseFacts, id: string) => Promise<JobJson | undefined>;
}

export interface JobDeps extends BookkeepingDeps {
  readonly keeper: JobKeeper;
  readonly provider: JobProvider;
}

export type Step = Omit<JobStep, "atMs" | "tries"> & { readonly inMs: number; readonly tries?: number };

/** A provider that cannot be asked is asked again after so long, doubling. */
const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 300_000;
/** Times in a row that a provider does not know a job before it is believed. */
export const MAX_UNKNOWN = 10;

export function pauseMs(tries: number): number {
  return Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** tries);
}

export function settling(job: ProviderJob, said: JobJson | null, end: JobEnd): Step {
  return { state: "settling", said: said ?? job.said, end, inMs: 0 };
}

/** Tells everybody whose these are, and how they stand. */
export async function noteObjects(
  deps: JobDeps,
  organisationId: string,
  objects: readonly StoredObject[],
): Promise<void> {
  await upsertStoredObjects(deps.db.pool, organisationId, objects);
  await tellGateways(deps.store.redis, organisationId, objects);
}
