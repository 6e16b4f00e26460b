/**
 * Posting webhooks. What is to be posted stands in Postgres with what it tells of, so a process that dies in between loses none; a
 * queue tries it, with growing pauses; a receiver may get it twice and knows it by its id.
 */
import { openSecret, webhookSecretContext, webhookTargetContext } from "@/lib/config/secret-box";
import { webhookHeaders } from "@/lib/config/webhook-signature";
import {
  deleteOldWebhookDeliveries,
  findOpenWebhookDelivery,
  findWebhookDeliveryState,
  listUnqueuedWebhooks,
  markWebhookDelivered,
  markWebhookFailure,
  markWebhooksQueued,
  requeueWebhook,
} from "@/lib/db/webhook-deliveries";
import type { WebhookDelivery } from "@/lib/db/webhook-deliveries";
import { listWebhookSecretBoxes } from "@/lib/db/webhook-secrets";
import { AppError } from "@/lib/domain/fault";
import type { Principal } from "@/lib/domain/role";
import type { WebhookFailure } from "@/lib/domain/webhook";
import type { BookkeepingDeps } from "./bookkeeping";
import { changeOrganisation, found } from "./change";
import type { ControlDeps } from "./deps";

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

/**
 * Hands what is to be posted to its queue; returns how many. Safe to repeat: the job is named after the delivery, and after how often a
 * person had it posted anew, since the queue remembers a job that failed.
 */
export async function queueWebhooks(
  deps: Pick<WebhookDeps, "db" | "clock">,
  enqueue: (deliveryId: string, jobId: string) => Promise<void>,
): Promise<number> {
  const nowMs = deps.clock.nowMs();
  const due = await listUnqueuedWebhooks(deps.db.pool, new Date(nowMs - LOST_MS), QUEUE_BATCH);
  const ids = due.map((one) => one.id);
  for (const { id, retries } of due) await enqueue(id, retries === 0 ? id : `${id}-${String(retries)}`);
  if (ids.length > 0) await markWebhooksQueued(deps.db.pool, ids, new Date(nowMs));
  return ids.length;
}

export type WebhookOutcome =
  /** `nothing`: it was posted before, or is gone. */
  | { readonly kind: "delivered" | "nothing" }
  /** `isFinal`: trying again would not help. The reason quotes neither address nor answer. */
  | { readonly kind: "failed"; readonly reason: string; readonly isFinal: boolean };

interface Failure {
  /** Kept with the delivery, for the console. */
  readonly code: WebhookFailure;
  /** For the queue's log. */
  readonly reason: string;
  readonly isFinal: boolean;
}

function failureOf(answer: WebhookAnswer): Failure | undefined {
  if (answer.kind === "refused") {
    return { code: "address_refused", reason: "the address may not be called", isFinal: true };
  }
  if (answer.kind === "failed") return { code: "no_answer", reason: `no answer: ${answer.reason}`, isFinal: false };
  const { status } = answer;
  if (status >= 200 && status < 300) return undefined;
  // 410 Gone: the specification's way for a receiver to say that it wants no more.
  return { code: `status_${status}`, reason: `the receiver answered ${String(status)}`, isFinal: status === 410 };
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

async function post(deps: WebhookDeps, delivery: WebhookDelivery): Promise<Failure | undefined> {
  const keys = await opened(deps, delivery);
  if (!keys) return { code: "unreadable", reason: "its secret or address cannot be read", isFinal: true };
  // Unsigned, nobody could tell it from anybody else's.
  if (keys.secrets.length === 0) {
    return { code: "secret_missing", reason: "the organisation has no webhook secret", isFinal: true };
  }
  const body = JSON.stringify(delivery.payload);
  const message = { id: delivery.id, timestamp: Math.floor(deps.clock.nowMs() / 1000), body };
  const headers = { "content-type": "application/json", ...webhookHeaders(message, keys.secrets) };
  return failureOf(await deps.post(keys.url, headers, body));
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
  await markWebhookFailure(deps.db.pool, id, failure.code, isLast ? now : null);
  const { reason, isFinal } = failure;
  return { kind: "failed", reason, isFinal };
}

/** Has a delivery that was given up posted anew, as often as a new one. `conflict` where it was posted or is still tried. */
export async function retryWebhook(
  deps: ControlDeps,
  principal: Principal,
  { organisationId, deliveryId }: { readonly organisationId: string; readonly deliveryId: string },
): Promise<{ readonly auditId: string }> {
  return changeOrganisation(deps, principal, organisationId, async (change) => {
    await change.require("organisation.update");
    const before = found(await findWebhookDeliveryState(change.tx, organisationId, deliveryId));
    if (before.deliveredAt !== null || before.failedAt === null) {
      throw new AppError("conflict", "Only what was given up can be posted anew");
    }
    await requeueWebhook(change.tx, deliveryId);
    const what = { action: "webhook_delivery.retry", objectType: "webhook_delivery", objectId: deliveryId };
    const auditId = await change.audit({ ...what, before, after: { ...before, failedAt: null } });
    return { auditId };
  });
}

/** Drops what was posted or given up long ago; returns how many. */
export async function pruneWebhooks(deps: Pick<WebhookDeps, "db" | "clock">): Promise<number> {
  return deleteOldWebhookDeliveries(deps.db.pool, new Date(deps.clock.nowMs() - KEEP_MS));
}
