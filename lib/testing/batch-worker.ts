/** A worker that looks after batches, run round by round, with everything real behind it. */
import { JobKeeper } from "@/lib/control/job-keeper";
import type { JobDeps } from "@/lib/control/job-steps";
import { keepJobs, workJobs } from "@/lib/control/provider-jobs";
import { restoreRegister, takeOverStored } from "@/lib/control/stored-objects";
import { createJobProvider } from "@/lib/wiring/job-provider";
import { TEST_MASTER_KEY } from "./factories";
import type { TestBench } from "./running-gateway";

export interface BatchWorker {
  readonly deps: JobDeps;
  /** How far its clock is ahead. */
  aheadMs: number;
  /** What a worker does every second, once. */
  round(organisationId: string, using?: JobDeps): Promise<void>;
  /** Rounds, and the books kept, until all batches have ended; each look further ahead. Throws where they do not. */
  untilEnded(organisationId: string): Promise<void>;
  close(): Promise<void>;
}

const MAX_ROUNDS = 30;

export function createBatchWorker(bench: TestBench): BatchWorker {
  const { db } = bench.control;
  const provider = createJobProvider({ db, masterKey: TEST_MASTER_KEY, outboundAllow: ["127.0.0.1"] });
  let aheadMs = 0;
  const clock = { nowMs: () => Date.now() + aheadMs };
  const keeper = new JobKeeper(bench.store, clock);
  const deps: JobDeps = { ...bench.books, clock, keeper, provider };
  const openBatches = async (organisationId: string): Promise<number> => {
    const { rows } = await db.pool.query<{ open: number }>(
      "SELECT count(*)::int AS open FROM provider_batches WHERE organisation_id = $1 AND ended_at IS NULL",
      [organisationId],
    );
    return rows[0]?.open ?? 0;
  };
  const round = async (organisationId: string, using = deps): Promise<void> => {
    await takeOverStored(using, organisationId);
    await restoreRegister(using, organisationId);
    await keepJobs(using);
    await keeper.heartbeat();
    await workJobs(using);
  };
  return {
    deps,
    get aheadMs() {
      return aheadMs;
    },
    set aheadMs(ms) {
      aheadMs = ms;
    },
    round,
    untilEnded: async (organisationId) => {
      for (let rounds = 0; rounds < MAX_ROUNDS; rounds += 1) {
        await round(organisationId);
        await bench.book(organisationId);
        if ((await openBatches(organisationId)) === 0) return;
        aheadMs += 61_000;
      }
      throw new Error("a batch does not end");
    },
    close: async () => {
      await keeper.heartbeat();
      await provider.close();
    },
  };
}
