/** Secrets of webhooks, sealed. They leave this file for signing only. */
import type { Tx } from "./client";
import type { SqlClient } from "./pool";

export interface WebhookSecretRow {
  readonly secretCiphertext: Uint8Array;
  readonly previousCiphertext: Uint8Array | null;
  readonly previousUntil: Date | null;
  readonly changedAt: Date;
}

export async function findWebhookSecret(tx: Tx, organisationId: string): Promise<WebhookSecretRow | null> {
  const select = { secretCiphertext: true, previousCiphertext: true, previousUntil: true, changedAt: true };
  return tx.webhookSecret.findUnique({ where: { organisationId }, select });
}

/** Makes `secret` the organisation's; the one before is good until `previousUntil`. */
export async function replaceWebhookSecret(
  tx: Tx,
  organisationId: string,
  secret: Uint8Array<ArrayBuffer>,
  previousUntil: Date,
  now: Date,
): Promise<void> {
  const before = await tx.webhookSecret.findUnique({ where: { organisationId }, select: { secretCiphertext: true } });
  const values = {
    secretCiphertext: secret,
    previousCiphertext: before?.secretCiphertext ?? null,
    previousUntil: before ? previousUntil : null,
    changedAt: now,
  };
  await tx.webhookSecret.upsert({
    where: { organisationId },
    create: { organisationId, ...values },
    update: values,
    select: { organisationId: true },
  });
}

export async function deleteWebhookSecret(tx: Tx, organisationId: string): Promise<void> {
  await tx.webhookSecret.delete({ where: { organisationId }, select: { organisationId: true } });
}

/** Only the newest signs from now on. */
export async function endPreviousWebhookSecret(tx: Tx, organisationId: string): Promise<void> {
  const data = { previousCiphertext: null, previousUntil: null };
  await tx.webhookSecret.update({ where: { organisationId }, data, select: { organisationId: true } });
}

/** The boxes of the secrets that are good now, newest first. */
export async function listWebhookSecretBoxes(client: SqlClient, organisationId: string, now: Date): Promise<Buffer[]> {
  const { rows } = await client.query<{ current: Buffer; previous: Buffer | null }>(
    `SELECT secret_ciphertext AS current, CASE WHEN previous_until > $2 THEN previous_ciphertext END AS previous
     FROM webhook_secrets WHERE organisation_id = $1`,
    [organisationId, now],
  );
  return rows.flatMap(({ current, previous }) => (previous ? [current, previous] : [current]));
}
