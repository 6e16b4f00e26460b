/** One row a job: who runs it. */
import { Worker } from "bullmq";
import type { JobName, JobPayload } from "@/lib/queues/jobs";
import { QUEUE_PREFIX } from "@/lib/queues/producer";
import type { WorkerContext } from "./context";
import { alertDispatch } from "./processors/alert-dispatch";
import { ledgerPartitions } from "./processors/ledger-partitions";
import { ledgerReconcile } from "./processors/ledger-reconcile";
import { periodRoll } from "./processors/period-roll";
import { recordPrune } from "./processors/record-prune";
import { reservationSweep } from "./processors/reservation-sweep";
import { snapshotCompile } from "./processors/snapshot-compile";
import { webhookDelivery } from "./processors/webhooks";
import { QUEUE_SETTINGS } from "./queue-settings";
import { runProcessor } from "./run-processor";

export type Processors = {
  readonly [Name in JobName]: (context: WorkerContext, payload: JobPayload<Name>) => Promise<Record<string, number>>;
};

const PROCESSORS: Processors = {
  "reservation-sweep": reservationSweep,
  "snapshot-compile": snapshotCompile,
  "ledger-partitions": ledgerPartitions,
  "record-prune": recordPrune,
  "period-roll": periodRoll,
  reconcile: ledgerReconcile,
  "alert-dispatch": alertDispatch,
  "webhook-delivery": webhookDelivery,
};

/** Starts a BullMQ worker a queue. They wait for the queues' Redis where it is away. */
export function startQueueWorkers(context: WorkerContext): { close(): Promise<void> } {
  const workers = Object.entries(QUEUE_SETTINGS).map(([name, settings]) => {
    const worker = new Worker(name, (job) => runProcessor(context, PROCESSORS, job.name, job.data), {
      connection: { url: context.services.queueUrl, maxRetriesPerRequest: null },
      prefix: QUEUE_PREFIX,
      concurrency: settings.concurrency,
      // Reconciling a long bill takes its time; a dead process's job is taken over after this.
      lockDuration: 60_000,
    });
    worker.on("error", () => undefined);
    return worker;
  });
  return {
    close: async () => {
      await Promise.all(workers.map((worker) => worker.close()));
    },
  };
}
