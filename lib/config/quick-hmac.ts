/**
 * HMAC-SHA-256 (RFC 2104) of short texts under one key, for what is signed once a call. Node's Hmac is an object of its own
 * with a stream around it, and costs several times what the two hashes do.
 */
import { createHmac, hash } from "node:crypto";

const BLOCK_BYTES = 64;
const DIGEST_BYTES = 32;
/** Longer texts go through Node's Hmac. */
const MAX_TEXT_BYTES = 1024;

/** The key XOR one byte, filled up to a block; a key longer than a block is hashed first. */
function padded(key: Buffer, byte: number): Buffer {
  const short = key.length > BLOCK_BYTES ? Buffer.from(hash("sha256", key, "hex"), "hex") : key;
  const block = Buffer.alloc(BLOCK_BYTES, byte);
  for (const [index, value] of short.entries()) block[index] = value ^ byte;
  return block;
}

/** A function from text to its code in base64url (43 characters). Not to be shared between threads. */
export function quickHmac(key: Buffer): (text: string) => string {
  const inner = Buffer.concat([padded(key, 0x36), Buffer.alloc(MAX_TEXT_BYTES)]);
  const outer = Buffer.concat([padded(key, 0x5c), Buffer.alloc(DIGEST_BYTES)]);
  return (text) => {
    // A character of UTF-16 is at most three bytes of UTF-8.
    if (text.length * 3 > MAX_TEXT_BYTES) return createHmac("sha256", key).update(text).digest("base64url");
    const bytes = inner.write(text, BLOCK_BYTES, "utf8");
    outer.write(hash("sha256", inner.subarray(0, BLOCK_BYTES + bytes), "hex"), BLOCK_BYTES, "hex");
    return hash("sha256", outer, "base64url");
  };
}
