/** One row a queue: how many jobs at once, how often each is tried. */
import type { QueueName } from "@/lib/queues/jobs";

export interface QueueSettings {
  readonly concurrency: number;
  readonly attempts: number;
  /** First pause between attempts; it doubles. */
  readonly backoffMs: number;
}

export const QUEUE_SETTINGS: Readonly<Record<QueueName, QueueSettings>> = {
  maintenance: { concurrency: 2, attempts: 3, backoffMs: 2_000 },
  snapshots: { concurrency: 1, attempts: 5, backoffMs: 1_000 },
  alerts: { concurrency: 4, attempts: 8, backoffMs: 2_000 },
  // Almost three hours: a receiver may be mended meanwhile.
  webhooks: { concurrency: 8, attempts: 12, backoffMs: 5_000 },
};
