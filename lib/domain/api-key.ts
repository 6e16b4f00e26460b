/**
 * The text of an API key: `sw_live_<organisation>_<secret><checksum>` (`sw_test_` for the test environment). The public
 * organisation id gives the Redis slot before any lookup; the checksum tells typos and chance finds of leak scanners
 * from real keys without asking anybody. Pure: randomness comes in, hashing is lib/config/key-hash.ts.
 */
import type { Environment } from "./snapshot";

export const API_KEY_SECRET_LENGTH = 32;
const CHECKSUM_LENGTH = 6;
const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const KEY = /^sw_(live|test)_([a-z0-9]{4,32})_([0-9A-Za-z]{38,70})$/u;
/** Longest text worth looking at. */
export const API_KEY_MAX_LENGTH = 120;

export type ParsedApiKey =
  { readonly ok: true; readonly environment: Environment; readonly organisationId: string } | { readonly ok: false };

/** Says what a key names. `ok` means well-formed with a right checksum, not that it exists. */
export function parseApiKey(text: string): ParsedApiKey {
  if (text.length > API_KEY_MAX_LENGTH) return { ok: false };
  const match = KEY.exec(text);
  const organisationId = match?.[2];
  if (match === null || organisationId === undefined) return { ok: false };
  const body = text.slice(0, -CHECKSUM_LENGTH);
  if (checksum(body) !== text.slice(-CHECKSUM_LENGTH)) return { ok: false };
  return { ok: true, environment: match[1] === "live" ? "production" : "test", organisationId };
}

/** The full key for a secret of 32 to 64 base62 characters. */
export function composeApiKey(environment: Environment, organisationId: string, secret: string): string {
  const body = `sw_${environment === "production" ? "live" : "test"}_${organisationId}_${secret}`;
  return body + checksum(body);
}

/**
 * A secret from random bytes; undefined when there were too few usable ones (take more and try again). Bytes above 247
 * are passed over, because 256 is no multiple of 62 and the first letters would come up more often.
 */
export function secretFromBytes(bytes: Uint8Array): string | undefined {
  let secret = "";
  for (const byte of bytes) {
    if (byte >= 248) continue;
    secret += BASE62.charAt(byte % 62);
    if (secret.length === API_KEY_SECRET_LENGTH) return secret;
  }
  return undefined;
}

/** What the console may show of a key: enough to recognise it, too little to guess it. */
export function apiKeyHints(key: string): { readonly prefix: string; readonly lastFour: string } {
  const secretStart = key.lastIndexOf("_") + 1;
  return { prefix: key.slice(0, secretStart + 4), lastFour: key.slice(-4) };
}

/** CRC-32 (IEEE 802.3) of the text in base62, padded to six characters. */
function checksum(text: string): string {
  let rest = crc32(text);
  let encoded = "";
  for (let index = 0; index < CHECKSUM_LENGTH; index += 1) {
    encoded = BASE62.charAt(rest % 62) + encoded;
    rest = Math.floor(rest / 62);
  }
  return encoded;
}

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, value) => {
  let entry = value;
  for (let bit = 0; bit < 8; bit += 1) entry = entry & 1 ? 0xedb88320 ^ (entry >>> 1) : entry >>> 1;
  return entry;
});

/** Keys are ASCII, so a character is a byte. */
function crc32(text: string): number {
  let crc = 0xffffffff;
  for (let index = 0; index < text.length; index += 1) {
    crc = (CRC_TABLE[(crc ^ text.charCodeAt(index)) & 0xff] ?? 0) ^ (crc >>> 8);
  }
  return (crc ^ 0xffffffff) >>> 0;
}
