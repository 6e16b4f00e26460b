/** What is to be posted to webhooks. Rows are written with what they tell of (`endDeferredCall`), and ended once. */
import type { WebhookPayload } from "@/lib/domain/webhook";
import type { Tx } from "./client";
import type { SqlClient } from "./pool";

export interface WebhookDelivery {
  readonly id: string;
  readonly organisationId: string;
  readonly targetBox: Buffer;
  readonly payload: WebhookPayload;
  readonly attempts: number;
}

/** One that is still to be posted, or was given up and is tried again; null where it was posted, or is gone. */
export async function findOpenWebhookDelivery(client: SqlClient, id: string): Promise<WebhookDelivery | null> {
  const { rows } = await client.query<WebhookDelivery>(
    `SELECT id, organisation_id AS "organisationId", target_box AS "targetBox", payload, attempts
     FROM webhook_deliveries WHERE id = $1 AND delivered_at IS NULL`,
    [id],
  );
  return rows[0] ?? null;
}

/** Open ones that were never queued, or so long ago that their queue must have lost them; noted as queued by `queuedNow`. */
export async function listUnqueuedWebhooks(
  client: SqlClient,
  lostBefore: Date,
  limit: number,
): Promise<{ readonly id: string; readonly retries: number }[]> {
  const { rows } = await client.query<{ id: string; retries: number }>(
    `SELECT id, retries FROM webhook_deliveries
     WHERE delivered_at IS NULL AND failed_at IS NULL AND (queued_at IS NULL OR queued_at < $1)
     ORDER BY created_at LIMIT $2`,
    [lostBefore, limit],
  );
  return rows;
}

export async function markWebhooksQueued(client: SqlClient, ids: readonly string[], now: Date): Promise<void> {
  await client.query("UPDATE webhook_deliveries SET queued_at = $2 WHERE id = ANY($1)", [ids, now]);
}

export async function markWebhookDelivered(client: SqlClient, id: string, now: Date): Promise<void> {
  await client.query(
    `UPDATE webhook_deliveries SET delivered_at = $2, failed_at = NULL, attempts = attempts + 1, last_failure = NULL WHERE id = $1`,
    [id, now],
  );
}

/** Notes an attempt that came to nothing. `givenUpAt`: where no other follows by itself. */
export async function markWebhookFailure(
  client: SqlClient,
  id: string,
  failure: string,
  givenUpAt: Date | null,
): Promise<void> {
  await client.query(
    `UPDATE webhook_deliveries SET attempts = attempts + 1, last_failure = $2, failed_at = $3
     WHERE id = $1 AND delivered_at IS NULL`,
    [id, failure, givenUpAt],
  );
}

/** Drops what ended before then; returns how many. */
export async function deleteOldWebhookDeliveries(client: SqlClient, before: Date): Promise<number> {
  const gone = await client.query(
    "DELETE FROM webhook_deliveries WHERE (delivered_at IS NOT NULL OR failed_at IS NOT NULL) AND created_at < $1",
    [before],
  );
  return gone.rowCount ?? 0;
}

export interface WebhookDeliveryState {
  readonly attempts: number;
  readonly retries: number;
  readonly lastFailure: string | null;
  readonly deliveredAt: Date | null;
  readonly failedAt: Date | null;
}

export async function findWebhookDeliveryState(
  tx: Tx,
  organisationId: string,
  id: string,
): Promise<WebhookDeliveryState | null> {
  const select = { attempts: true, retries: true, lastFailure: true, deliveredAt: true, failedAt: true };
  return tx.webhookDelivery.findFirst({ where: { id, organisationId }, select });
}

/** Opens one that was given up: it is queued again under another name, with all its attempts before it. */
export async function requeueWebhook(tx: Tx, id: string): Promise<void> {
  await tx.webhookDelivery.update({
    where: { id },
    data: { failedAt: null, queuedAt: null, attempts: 0, retries: { increment: 1 } },
    select: { id: true },
  });
}

export interface WebhookDeliveryRow extends WebhookDeliveryState {
  readonly id: string;
  readonly targetBox: Buffer;
  readonly payload: WebhookPayload;
  readonly createdAt: Date;
}

/** Newest first, below the one named. `state` "": any. */
export async function listWebhookDeliveries(
  client: SqlClient,
  organisationId: string,
  page: {
    readonly state: string;
    readonly before: { readonly at: Date; readonly id: string } | null;
    readonly limit: number;
  },
): Promise<WebhookDeliveryRow[]> {
  const { rows } = await client.query<WebhookDeliveryRow>(
    `SELECT id, target_box AS "targetBox", payload, attempts, retries, last_failure AS "lastFailure", delivered_at AS "deliveredAt",
            failed_at AS "failedAt", created_at AS "createdAt"
       FROM webhook_deliveries
      WHERE organisation_id = $1
        AND ($2 = '' OR $2 = CASE WHEN delivered_at IS NOT NULL THEN 'delivered' WHEN failed_at IS NOT NULL THEN 'failed' ELSE 'waiting' END)
        AND ($3::timestamptz IS NULL OR (created_at, id) < ($3, $4))
      ORDER BY created_at DESC, id DESC LIMIT $5`,
    [organisationId, page.state, page.before?.at ?? null, page.before?.id ?? "", page.limit],
  );
  return rows;
}
