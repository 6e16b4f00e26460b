/**
 * Secrets of providers at rest: AES-256-GCM under the master key. The additional data binds a box to the row it was
 * sealed for, so a box copied into another row does not open.
 *
 * Layout: 1 byte version, 12 bytes nonce, 16 bytes tag, ciphertext.
 */
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";

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

/** Seals `plain`; `masterKey` is 32 bytes, `context` must be given again to open. */
export function sealSecret(masterKey: Buffer, plain: string, context: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv("aes-256-gcm", masterKey, nonce);
  cipher.setAAD(Buffer.from(context, "utf8"));
  const ciphertext = Buffer.concat([cipher.update(plain, "utf8"), cipher.final()]);
  return Buffer.concat([Buffer.of(VERSION), nonce, cipher.getAuthTag(), ciphertext]);
}

/** Opens a box. Throws when key or context are others, or a byte was changed; the error says nothing of the content. */
export function openSecret(masterKey: Buffer, box: Uint8Array, context: string): string {
  const bytes = Buffer.from(box);
  if (bytes.length < 1 + NONCE_BYTES + TAG_BYTES || bytes[0] !== VERSION) throw new Error("not a sealed secret");
  const nonce = bytes.subarray(1, 1 + NONCE_BYTES);
  const decipher = createDecipheriv("aes-256-gcm", masterKey, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(context, "utf8"));
  decipher.setAuthTag(bytes.subarray(1 + NONCE_BYTES, 1 + NONCE_BYTES + TAG_BYTES));
  return decipher.update(bytes.subarray(1 + NONCE_BYTES + TAG_BYTES), undefined, "utf8") + decipher.final("utf8");
}
