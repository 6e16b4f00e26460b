/** Everything the worker process runs, startable from main and from tests. */
import type { WorkerEnv } from "@/lib/config/env";
import { TouchedBudgets } from "@/lib/control/alerts";
import { ensureLedgerPartitions } from "@/lib/control/partitions";
import { FenceWatch } from "@/lib/control/recovery";
import { storedObjects } from "./processors/provider-jobs";
import { createProducer } from "@/lib/queues/producer";
import { createWorkerServices } from "@/lib/wiring/worker";
import type { WorkerContext } from "./context";
import { startHealthServer } from "./health-server";
import { QUEUE_SETTINGS } from "./queue-settings";
import { startQueueWorkers } from "./registry";
import { SCHEDULES, startTicks } from "./schedules";
import { SettlementLoop } from "./settlement/loop";

export interface RunningWorker {
  readonly context: WorkerContext;
  /** Port of health and metrics. */
  readonly port: number;
  /** Stops reading, finishes what is in hand and closes. */
  stop(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 30_000;

/** Rejects where Redis, Postgres or the health port cannot be had. `consumer` names this process in the streams. */
export async function startWorker(env: WorkerEnv, consumer: string): Promise<RunningWorker> {
  const services = createWorkerServices(env);
  await services.untilConnected(CONNECT_TIMEOUT_MS);
  const producer = createProducer(services.queueUrl, QUEUE_SETTINGS);
  const context: WorkerContext = { services, producer, touched: new TouchedBudgets(), fences: new FenceWatch() };
  await ensureLedgerPartitions(services.deps);
  // Nobody knows before the first look: zero would say that calls pass.
  services.metrics.fenced.set(Number.NaN);
  // Before anything is swept: no hold of a batch may be taken for a dead gateway's.
  await storedObjects(context);
  await services.jobs.keeper.heartbeat();
  const loop = new SettlementLoop({
    deps: services.deps,
    metrics: services.metrics,
    reader: services.reader,
    consumer,
    listOrganisations: services.listOrganisations,
    touched: context.touched,
  });
  loop.start();
  const ticks = startTicks(context);
  const queues = startQueueWorkers(context);
  // The queues' Redis may be another one and away: schedules are written when it answers, and settlement does not wait.
  producer.applySchedules(SCHEDULES).catch((error: unknown) => services.deps.log.warn({ err: error }, "no schedules"));
  const health = await startHealthServer({
    services,
    lastRoundMs: () => loop.lastRoundMs(),
    host: env.WORKER_HOST,
    port: env.WORKER_PORT,
  });
  return {
    context,
    port: health.port,
    stop: async () => {
      await Promise.all([loop.stop(), ticks.stop(), queues.close()]);
      await Promise.all([health.close(), producer.close()]);
      await services.close();
    },
  };
}
