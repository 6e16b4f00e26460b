/**
 * Signatures of webhooks (https://www.standardwebhooks.com): HMAC-SHA-256 over "id.timestamp.body", with a secret of 24 to 64 bytes
 * that is written `whsec_` and base64. Several signatures stand side by side while a secret is being replaced.
 */
import { createHmac, randomBytes } from "node:crypto";

const PREFIX = "whsec_";

/** A new secret of 32 bytes, as the receiver is to be given it. */
export function newWebhookSecret(): string {
  return `${PREFIX}${randomBytes(32).toString("base64")}`;
}

export interface SignedMessage {
  readonly id: string;
  /** Unix seconds, of this attempt. */
  readonly timestamp: number;
  readonly body: string;
}

/** The headers that prove a message, signed with each of the secrets. */
export function webhookHeaders(message: SignedMessage, secrets: readonly string[]): Record<string, string> {
  const { id, timestamp, body } = message;
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(PREFIX.length), "base64");
    return `v1,${createHmac("sha256", key)
      .update(`${id}.${String(timestamp)}.${body}`)
      .digest("base64")}`;
  });
  return {
    "webhook-id": id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": signatures.join(" "),
  };
}
