import { UnrecoverableError } from "bullmq";
import { deliverWebhook, queueWebhooks } from "@/lib/control/webhook-deliveries";
import type { JobPayload } from "@/lib/queues/jobs";
import type { WorkerContext } from "../context";
import { QUEUE_SETTINGS } from "../queue-settings";

/** Hands what is to be posted to the queue. */
export async function webhookDispatch({ services, producer }: WorkerContext): Promise<Record<string, number>> {
  const queued = await queueWebhooks(services.webhooks, (deliveryId, jobId) =>
    producer.enqueue("webhook-delivery", { deliveryId }, { jobId }),
  );
  return { queued };
}

/** Posts one. Throws where it has to be tried again, so that the queue pauses and counts. */
export async function webhookDelivery(
  { services }: WorkerContext,
  { deliveryId }: JobPayload<"webhook-delivery">,
): Promise<Record<string, number>> {
  const outcome = await deliverWebhook(services.webhooks, deliveryId, QUEUE_SETTINGS.webhooks.attempts);
  if (outcome.kind !== "failed") return { delivered: outcome.kind === "delivered" ? 1 : 0 };
  throw outcome.isFinal ? new UnrecoverableError(outcome.reason) : new Error(outcome.reason);
}
