/**
 * Identifiers: `<prefix>_<ULID>`. A ULID is 48 bits of Unix milliseconds and 80 random bits in Crockford base32
 * (https://github.com/ulid/spec), lower case here. The time part matters: a request id tells the ledger which
 * monthly partition its rows belong to, so that a redelivery lands on the same row.
 */
import { flatText } from "./flat-text";

const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
const TIME_LENGTH = 10;
const RANDOM_LENGTH = 16;

export type IdPrefix =
  | "alr"
  | "apr"
  | "aud"
  | "bud"
  | "con"
  | "dep"
  | "dfr"
  | "fx"
  | "grt"
  | "gw"
  | "iss"
  | "key"
  | "mem"
  | "mod"
  | "pim"
  | "pol"
  | "prc"
  | "prv"
  | "pv"
  | "rec"
  | "req"
  | "rlm"
  | "rol"
  | "usr"
  | "whk";

let lastTime = { ms: -1, text: "" };

function encodeTime(timeMs: number): string {
  const ms = Math.floor(timeMs);
  if (ms !== lastTime.ms) lastTime = { ms, text: encodeMs(ms) };
  return lastTime.text;
}

function encodeMs(timeMs: number): string {
  let rest = timeMs;
  let text = "";
  for (let index = 0; index < TIME_LENGTH; index += 1) {
    text = ALPHABET.charAt(rest % 32) + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}

/** Two letters of ten random bits. */
const PAIRS = Array.from({ length: 1024 }, (_, bits) => ALPHABET.charAt(bits >> 5) + ALPHABET.charAt(bits & 31));

function encodeRandom(bytes: Uint8Array): string {
  let text = "";
  for (let index = 0; index < RANDOM_LENGTH; index += 2) {
    text += PAIRS[(((bytes[index] ?? 0) & 31) << 5) | ((bytes[index + 1] ?? 0) & 31)] ?? "";
  }
  return text;
}

// One system call for many ids: the hot path takes an id a request.
const POOL_BYTES = RANDOM_LENGTH * 128;
const pool = new Uint8Array(POOL_BYTES);
let poolOffset = POOL_BYTES;

function randomBytes(): Uint8Array {
  if (poolOffset >= POOL_BYTES) {
    globalThis.crypto.getRandomValues(pool);
    poolOffset = 0;
  }
  const bytes = pool.subarray(poolOffset, poolOffset + RANDOM_LENGTH);
  poolOffset += RANDOM_LENGTH;
  return bytes;
}

/** A new id. `timeMs` is Unix milliseconds of the thing named. */
export function newId(prefix: IdPrefix, timeMs: number): string {
  return flatText(`${prefix}_${encodeTime(timeMs)}${encodeRandom(randomBytes())}`);
}

/** The Unix milliseconds an id carries; undefined when the text is not one of our ids. */
export function idTimeMs(id: string): number | undefined {
  const ulid = id.slice(id.indexOf("_") + 1);
  if (ulid.length !== TIME_LENGTH + RANDOM_LENGTH) return undefined;
  let timeMs = 0;
  for (let index = 0; index < TIME_LENGTH; index += 1) {
    const digit = ALPHABET.indexOf(ulid.charAt(index));
    if (digit < 0) return undefined;
    timeMs = timeMs * 32 + digit;
  }
  return timeMs;
}
