/** Puts jobs into their queues. Payloads are typed by name, and the job id is the idempotency key. */
import { Queue } from "bullmq";
import type { JobName, JobPayload, QueueName } from "./jobs";
import { JOBS, QUEUES } from "./jobs";

/** BullMQ's keys share a hash tag of their own: its scripts touch several keys at once. */
export const QUEUE_PREFIX = "{sw-queue}";

/** Kept so long that somebody can look; failed ones are the dead letters. */
const KEEP_DONE = { age: 3_600, count: 200 };
const KEEP_FAILED = { age: 30 * 86_400, count: 10_000 };

export interface EnqueueOptions {
  /** A second job with this id is not added while the first is known. */
  readonly jobId: string;
  readonly delayMs?: number;
}

export interface DeadJob {
  readonly queue: QueueName;
  readonly id: string;
  readonly name: string;
  readonly reason: string;
  readonly attempts: number;
  readonly failedAtMs: number | null;
}

export interface Schedule {
  readonly job: JobName;
  /** Cron text with seconds, or an interval. */
  readonly pattern?: string;
  readonly everyMs?: number;
}

export interface JobProducer {
  enqueue<Name extends JobName>(job: Name, payload: JobPayload<Name>, options: EnqueueOptions): Promise<void>;
  /** Makes the schedules exactly these; safe to repeat by every process. */
  applySchedules(schedules: readonly Schedule[]): Promise<void>;
  listDead(limit: number): Promise<DeadJob[]>;
  /** Runs dead jobs again; returns how many. */
  retryDead(limit: number): Promise<number>;
  close(): Promise<void>;
}

interface Attempts {
  readonly attempts: number;
  readonly backoffMs: number;
}

/** `attempts` says how often each queue tries; a job that fails them all stays as a dead letter. */
export function createProducer(redisUrl: string, attempts: Readonly<Record<QueueName, Attempts>>): JobProducer {
  const queues = new Map(
    Object.values(QUEUES).map((name) => [
      name,
      new Queue(name, {
        connection: { url: redisUrl, maxRetriesPerRequest: null },
        prefix: QUEUE_PREFIX,
        defaultJobOptions: {
          attempts: attempts[name].attempts,
          backoff: { type: "exponential", delay: attempts[name].backoffMs },
          removeOnComplete: KEEP_DONE,
          removeOnFail: KEEP_FAILED,
        },
      }),
    ]),
  );
  for (const queue of queues.values()) queue.on("error", () => undefined);
  const queueOf = (job: JobName): Queue => {
    const queue = queues.get(JOBS[job].queue);
    if (queue === undefined) throw new Error(`no queue for ${job}`);
    return queue;
  };
  return {
    enqueue: async (job, payload, options) => {
      const data = JOBS[job].payload.parse(payload);
      const delay = options.delayMs === undefined ? {} : { delay: options.delayMs };
      await queueOf(job).add(job, data, { jobId: options.jobId, ...delay });
    },
    applySchedules: async (schedules) => {
      for (const { job, pattern, everyMs } of schedules) {
        const repeat = pattern === undefined ? { every: everyMs ?? 60_000 } : { pattern, tz: "UTC" };
        await queueOf(job).upsertJobScheduler(job, repeat, { name: job, data: {} });
      }
      await removeOtherSchedules([...queues.values()], new Set(schedules.map((schedule) => schedule.job)));
    },
    listDead: async (limit) => {
      const lists = await Promise.all([...queues].map(([name, queue]) => listDeadOf(name, queue, limit)));
      return lists.flat().slice(0, limit);
    },
    retryDead: async (limit) => {
      let retried = 0;
      for (const queue of queues.values()) {
        for (const job of await queue.getFailed(0, limit - 1)) {
          if (retried >= limit) break;
          await job.retry("failed");
          retried += 1;
        }
      }
      return retried;
    },
    close: async () => {
      await Promise.all([...queues.values()].map((queue) => queue.close()));
    },
  };
}

async function removeOtherSchedules(queues: readonly Queue[], wanted: ReadonlySet<string>): Promise<void> {
  for (const queue of queues) {
    for (const scheduler of await queue.getJobSchedulers()) {
      if (!wanted.has(scheduler.key)) await queue.removeJobScheduler(scheduler.key);
    }
  }
}

async function listDeadOf(name: QueueName, queue: Queue, limit: number): Promise<DeadJob[]> {
  return (await queue.getFailed(0, limit - 1)).map((job) => ({
    queue: name,
    id: job.id ?? "",
    name: job.name,
    reason: job.failedReason ?? "",
    attempts: job.attemptsMade,
    failedAtMs: job.finishedOn ?? null,
  }));
}
