/** `npm run dead-letters -- list|retry`: jobs that failed every attempt, and usage events that the ledger could not take. */
import { workerEnv } from "@/lib/config/env";
import { createProducer } from "@/lib/queues/producer";
import type { JobProducer } from "@/lib/queues/producer";
import { listDeadUsage, retryDeadUsage } from "@/lib/redis/usage-stream";
import { createWorkerServices } from "@/lib/wiring/worker";
import type { WorkerServices } from "@/lib/wiring/worker";
import { QUEUE_SETTINGS } from "./queue-settings";

const MAX_SHOWN = 200;

async function list(services: WorkerServices, producer: JobProducer): Promise<void> {
  const jobs = await producer.listDead(MAX_SHOWN);
  for (const job of jobs) {
    const when = job.failedAtMs === null ? "" : new Date(job.failedAtMs).toISOString();
    console.log(`job    ${job.queue}  ${job.id}  ${job.name}  ${when}  ${job.attempts} attempts  ${job.reason}`);
  }
  let events = 0;
  for (const organisationId of await services.listOrganisations()) {
    // Names and reasons only: an event's own text may hold what a caller sent.
    for (const letter of await listDeadUsage(services.deps.store.redis, organisationId, MAX_SHOWN)) {
      events += 1;
      console.log(`event  ${organisationId}  ${letter.streamId}  ${letter.kind}  ${letter.reason}`);
    }
  }
  console.log(`${jobs.length} jobs and ${events} usage events.`);
}

async function retry(services: WorkerServices, producer: JobProducer): Promise<void> {
  const jobs = await producer.retryDead(MAX_SHOWN);
  let events = 0;
  for (const organisationId of await services.listOrganisations()) {
    events += await retryDeadUsage(services.deps.store.redis, organisationId, MAX_SHOWN);
  }
  console.log(`${jobs} jobs and ${events} usage events are tried again.`);
}

async function main(command: string | undefined): Promise<number> {
  if (command !== "list" && command !== "retry") {
    console.error("Usage: npm run dead-letters -- list|retry");
    return 2;
  }
  const services = createWorkerServices(workerEnv());
  const producer = createProducer(services.queueUrl, QUEUE_SETTINGS);
  try {
    await services.untilConnected(10_000);
    await (command === "list" ? list(services, producer) : retry(services, producer));
    return 0;
  } finally {
    await producer.close();
    await services.close();
  }
}

main(process.argv[2]).then(
  (code) => process.exit(code),
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : "the dead letters could not be read");
    process.exit(1);
  },
);
