/**
 * Posting webhooks. What is to be posted stands in Postgres with what it tells of, so a process that dies in between loses none; a
 * queue tries it, with growing pauses; a receiver may get it twice and knows it by its id.
 */
import { openSecret, webhookSecretContext, webhookTargetContext } from "@/lib/config/secret-box";
import { webhookHeaders } from "@/lib/config/webhook-signature";
import {
  deleteOldWebhookDeliveries,
  findOpenWebhookDelivery,
  listUnqueuedWebhooks,
  markWebhookDelivered,
  markWebhookFailure,
  markWebhooksQueued,
} from "@/lib/db/webhook-deliveries";
import type { WebhookDelivery } from "@/lib/db/webhook-deliveries";
import { listWebhookSecretBoxes } from "@/lib/db/webhook-secrets";
import type { BookkeepingDeps } from "./bookkeeping";

/** What came of a POST. */
export type WebhookAnswer =
  | { readonly kind: "answer"; readonly status: number }
  /** The guard said no; nothing was sent. */
  | { readonly kind: "refused" }
  | { readonly kind: "failed"; readonly reason: string };

export interface WebhookDeps extends Pick<BookkeepingDeps, "db" | "clock"> {
  readonly masterKey: Buffer;
  /** One bounded POST through the guard of `lib/net`, which follows no redirect. Never throws. */
  readonly post: (url: string, headers: Readonly<Record<string, string>>, body: string) => Promise<WebhookAnswer>;
}

const QUEUE_BATCH = 100;
/** Longer than a queue tries: what is still open then, the queue has lost. */
const LOST_MS = 6 * 3_600_000;
const KEEP_MS = 30 * 86_400_000;

/** Hands what is to be posted to its queue; returns how many. Safe to repeat: the id of the delivery is the job's. */
export async function queueWebhooks(
  deps: Pick<WebhookDeps, "db" | "clock">,
  enqueue: (deliveryId: string) => Promise<void>,
): Promise<number> {
  const nowMs = deps.clock.nowMs();
  const ids = await listUnqueuedWebhooks(deps.db.pool, new Date(nowMs - LOST_MS), QUEUE_BATCH);
  for (const id of ids) await enqueue(id);
  if (ids.length > 0) await markWebhooksQueued(deps.db.pool, ids, new Date(nowMs));
  return ids.length;
}

export type WebhookOutcome =
  /** `nothing`: it was posted before, or is gone. */
  | { readonly kind: "delivered" | "nothing" }
  /** `isFinal`: trying again would not help. The reason quotes neither address nor answer. */
  | { readonly kind: "failed"; readonly reason: string; readonly isFinal: boolean };

function failureOf(answer: WebhookAnswer): { reason: string; isFinal: boolean } | undefined {
  if (answer.kind === "refused") return { reason: "the address may not be called", isFinal: true };
  if (answer.kind === "failed") return { reason: `no answer: ${answer.reason}`, isFinal: false };
  if (answer.status >= 200 && answer.status < 300) return undefined;
  // 410 Gone: the specification's way for a receiver to say that it wants no more.
  return { reason: `the receiver answered ${String(answer.status)}`, isFinal: answer.status === 410 };
}

/** The secrets that are good now and the address, opened; undefined where they were sealed under a master key of before. */
async function opened(
  deps: WebhookDeps,
  { id, organisationId, targetBox }: WebhookDelivery,
): Promise<{ url: string; secrets: string[] } | undefined> {
  const boxes = await listWebhookSecretBoxes(deps.db.pool, organisationId, new Date(deps.clock.nowMs()));
  try {
    const secrets = boxes.map((box) => openSecret(deps.masterKey, box, webhookSecretContext(organisationId)));
    return { url: openSecret(deps.masterKey, targetBox, webhookTargetContext(organisationId, id)), secrets };
  } catch {
    return undefined;
  }
}

async function post(
  deps: WebhookDeps,
  delivery: WebhookDelivery,
): Promise<{ reason: string; isFinal: boolean } | undefined> {
  const found = await opened(deps, delivery);
  if (!found) return { reason: "its secret or address cannot be read", isFinal: true };
  // Unsigned, nobody could tell it from anybody else's.
  if (found.secrets.length === 0) return { reason: "the organisation has no webhook secret", isFinal: true };
  const body = JSON.stringify(delivery.payload);
  const message = { id: delivery.id, timestamp: Math.floor(deps.clock.nowMs() / 1000), body };
  const headers = { "content-type": "application/json", ...webhookHeaders(message, found.secrets) };
  return failureOf(await deps.post(found.url, headers, body));
}

/** Posts one delivery. `maxAttempts`: after so many it is given up. */
export async function deliverWebhook(deps: WebhookDeps, id: string, maxAttempts: number): Promise<WebhookOutcome> {
  const delivery = await findOpenWebhookDelivery(deps.db.pool, id);
  if (!delivery) return { kind: "nothing" };
  const failure = await post(deps, delivery);
  const now = new Date(deps.clock.nowMs());
  if (!failure) {
    await markWebhookDelivered(deps.db.pool, id, now);
    return { kind: "delivered" };
  }
  const isLast = failure.isFinal || delivery.attempts + 1 >= maxAttempts;
  await markWebhookFailure(deps.db.pool, id, failure.reason, isLast ? now : null);
  return { kind: "failed", ...failure };
}

/** Drops what was posted or given up long ago; returns how many. */
export async function pruneWebhooks(deps: Pick<WebhookDeps, "db" | "clock">): Promise<number> {
  return deleteOldWebhookDeliveries(deps.db.pool, new Date(deps.clock.nowMs() - KEEP_MS));
}
