/**
 * Secrets of providers at rest: AES-256-GCM under the master key. The additional data binds a box to the row it was
 * sealed for, so a box copied into another row does not open.
 *
 * Layout: 1 byte version, 12 bytes nonce, 16 bytes tag, ciphertext.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";

const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** The additional data of a provider's secret. */
export function providerSecretContext(organisationId: string, providerId: string): string {
  return `provider:${organisationId}:${providerId}`;
}

/** The additional data of the client secret by which an issuer's tokens are introspected. */
export function issuerSecretContext(organisationId: string, issuerId: string): string {
  return `issuer:${organisationId}:${issuerId}`;
}

/** The additional data of the secret that an organisation's webhooks are signed with. */
export function webhookSecretContext(organisationId: string): string {
  return `webhook:${organisationId}`;
}

/** The additional data of the address that a webhook is posted to. */
export function webhookTargetContext(organisationId: string, deliveryId: string): string {
  return `webhook-target:${organisationId}:${deliveryId}`;
}

/** A key of 32 bytes for one purpose, so that what is sealed for one is never opened for another (HKDF, RFC 5869). */
export function deriveKey(masterKey: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync("sha256", masterKey, Buffer.alloc(0), `spillway ${purpose}`, 32));
}

/** Seals `plain`; `key` is 32 bytes, `context` must be given again to open. */
export function sealBytes(key: Buffer, plain: Uint8Array, context: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv("aes-256-gcm", key, nonce);
  cipher.setAAD(Buffer.from(context, "utf8"));
  const ciphertext = Buffer.concat([cipher.update(plain), cipher.final()]);
  return Buffer.concat([Buffer.of(VERSION), nonce, cipher.getAuthTag(), ciphertext]);
}

/** Seals a text under the master key itself. */
export function sealSecret(masterKey: Buffer, plain: string, context: string): Buffer {
  return sealBytes(masterKey, Buffer.from(plain, "utf8"), context);
}

/** Opens a box. Throws when key or context are others, or a byte was changed; the error says nothing of the content. */
export function openBytes(key: Buffer, box: Uint8Array, context: string): Buffer {
  const bytes = Buffer.from(box);
  if (bytes.length < 1 + NONCE_BYTES + TAG_BYTES || bytes[0] !== VERSION) throw new Error("not a sealed secret");
  const nonce = bytes.subarray(1, 1 + NONCE_BYTES);
  const decipher = createDecipheriv("aes-256-gcm", key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(context, "utf8"));
  decipher.setAuthTag(bytes.subarray(1 + NONCE_BYTES, 1 + NONCE_BYTES + TAG_BYTES));
  return Buffer.concat([decipher.update(bytes.subarray(1 + NONCE_BYTES + TAG_BYTES)), decipher.final()]);
}

/** Opens a box of a text that was sealed under the master key itself. Throws as openBytes does. */
export function openSecret(masterKey: Buffer, box: Uint8Array, context: string): string {
  return openBytes(masterKey, box, context).toString("utf8");
}
