/**
 * Input audio in tokens: its duration times the vendor's rate. The duration comes from a WAV head (RIFF, "fmt " and
 * "data" chunks); for other formats it is bounded by the bytes at the lowest bit rate the format knows.
 */
import type { Vendor } from "./families";
import { base64Bytes } from "./image-size";

/**
 * Tokens a second. OpenAI: one for 100 ms of a user's audio; Gemini: 32 ("Understand and count tokens"); Qwen audio: 25.
 * Who says nothing gets more than any of them.
 */
const TOKENS_PER_SECOND: Readonly<Record<Vendor, number>> = {
  openai: 10,
  gemini: 32,
  qwen: 25,
  anthropic: 50,
  deepseek: 50,
  other: 50,
};

/** The lowest rates of MP3 (8 kbit/s), Opus (6), AAC (8); lossless formats can pack silence to nearly nothing. */
const LEAST_BYTES_PER_SECOND: Readonly<Record<string, number>> = {
  mp3: 1000,
  opus: 750,
  ogg: 750,
  aac: 1000,
  m4a: 1000,
  pcm16: 16_000,
};
const LEAST_OF_ANY = 100;
const WAV_HEAD_BYTES = 64 * 1024;

/** Bytes of one second of sound; undefined where the head is not that of uncompressed WAV. */
function wavBytesPerSecond(base64: string): number | undefined {
  const head = Buffer.from(base64.slice(0, Math.ceil(WAV_HEAD_BYTES / 3) * 4), "base64");
  if (head.toString("latin1", 0, 4) !== "RIFF" || head.toString("latin1", 8, 12) !== "WAVE") return undefined;
  let at = 12;
  while (at + 24 <= head.length) {
    const bytes = head.readUInt32LE(at + 4);
    if (head.toString("latin1", at, at + 4) === "fmt ") {
      // Compressed kinds (ADPCM, MP3 in WAV) say their rate in other words; they fall to the byte bound.
      const kind = head.readUInt16LE(at + 8);
      if (kind !== 1 && kind !== 3 && kind !== 0xfffe) return undefined;
      const rate = (head.readUInt16LE(at + 10) * head.readUInt32LE(at + 12) * head.readUInt16LE(at + 22)) / 8;
      // A head that says both rates and means different ones: the lower one makes the longer sound.
      const stated = head.readUInt32LE(at + 16);
      const least = Math.min(rate, stated);
      return least > 0 ? least : undefined;
    }
    at += 8 + bytes + (bytes % 2);
  }
  return undefined;
}

/** Seconds of a sound at the most, for a format by its short name ("wav", "mp3"). */
export function audioSeconds(base64: string, format: string): number {
  const perSecond = wavBytesPerSecond(base64) ?? LEAST_BYTES_PER_SECOND[format.toLowerCase()] ?? LEAST_OF_ANY;
  return base64Bytes(base64) / perSecond;
}

/** Input tokens of a sound at the most. */
export function audioTokens(vendor: Vendor, base64: string, format: string): number {
  return Math.ceil(audioSeconds(base64, format) * TOKENS_PER_SECOND[vendor]) + 1;
}
