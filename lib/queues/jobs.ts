/**
 * Names and payloads of every BullMQ job. A payload carries ids; the database row carries the facts. The job id is the
 * idempotency key. Settlement is not a job: it is a loop over the usage streams inside the worker process.
 */
import { z } from "zod";

export const QUEUES = {
  maintenance: "maintenance",
  snapshots: "snapshots",
  alerts: "alerts",
  webhooks: "webhooks",
} as const;
export type QueueName = (typeof QUEUES)[keyof typeof QUEUES];

export const JOBS = {
  "reservation-sweep": { queue: QUEUES.maintenance, payload: z.object({}) },
  "period-roll": { queue: QUEUES.maintenance, payload: z.object({}) },
  "record-prune": { queue: QUEUES.maintenance, payload: z.object({}) },
  "ledger-partitions": { queue: QUEUES.maintenance, payload: z.object({}) },
  reconcile: { queue: QUEUES.maintenance, payload: z.object({ organisationId: z.string().optional() }) },
  "snapshot-compile": { queue: QUEUES.snapshots, payload: z.object({ organisationId: z.string().optional() }) },
  "alert-dispatch": { queue: QUEUES.alerts, payload: z.object({ alertId: z.string() }) },
  "webhook-delivery": { queue: QUEUES.webhooks, payload: z.object({ deliveryId: z.string() }) },
} as const;
export type JobName = keyof typeof JOBS;
export type JobPayload<Name extends JobName> = z.infer<(typeof JOBS)[Name]["payload"]>;
