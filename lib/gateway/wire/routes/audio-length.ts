/** How long a recording can be at the most, by its header or its size. */
import type { FilePart } from "./form";

/** Speech codecs go down to about 6 kbit/s (Opus, RFC 6716); 4 kbit/s leaves room for the silences they shorten. */
const LEAST_BYTES_PER_SECOND = 500;

const PCM = 1;
const FLOAT = 3;
const A_LAW = 6;
const MU_LAW = 7;
const EXTENSIBLE = 0xfffe;
const FIXED_RATE = new Set([PCM, FLOAT, A_LAW, MU_LAW]);
/** Of a sample in such a format. */
const SAMPLE_BITS = new Set([8, 16, 24, 32, 64]);
/** Where the extensible tag says which format it stands for: the first bytes of an id (WAVEFORMATEXTENSIBLE). */
const SUB_FORMAT_AT = 24;

/** The format of the samples, also where it stands behind the extensible tag: that may be a codec of any rate. */
function formatAt(head: DataView, at: number): number | undefined {
  const format = head.getUint16(at, true);
  if (format !== EXTENSIBLE) return format;
  const hasSubFormat = head.getUint32(at - 4, true) >= SUB_FORMAT_AT + 16 && head.byteLength >= at + SUB_FORMAT_AT + 2;
  return hasSubFormat ? head.getUint16(at + SUB_FORMAT_AT, true) : undefined;
}

function tag(head: DataView, at: number): string {
  return String.fromCharCode(...[0, 1, 2, 3].map((offset) => head.getUint8(at + offset)));
}

/**
 * Bytes a second of a WAV file with a fixed rate; undefined for other files. Worked out from rate, channels and width, which
 * a decoder obeys, and not from the stated byte rate, which it ignores.
 */
function wavBytesPerSecond(bytes: Uint8Array): number | undefined {
  const head = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (head.byteLength < 36 || tag(head, 0) !== "RIFF" || tag(head, 8) !== "WAVE") return undefined;
  for (let at = 12; at + 24 <= head.byteLength; at += 8 + head.getUint32(at + 4, true)) {
    if (tag(head, at) !== "fmt ") continue;
    const format = formatAt(head, at + 8);
    const channels = head.getUint16(at + 10, true);
    const rate = head.getUint32(at + 12, true);
    const bits = head.getUint16(at + 22, true);
    const perSecond = channels * rate * (bits / 8);
    const isFixed = format !== undefined && FIXED_RATE.has(format) && SAMPLE_BITS.has(bits);
    return isFixed && perSecond > 0 ? perSecond : undefined;
  }
  return undefined;
}

/** Whole seconds, rounded up. */
export function audioSecondsBound(file: Pick<FilePart, "bytes" | "head">): number {
  return Math.ceil(file.bytes / (wavBytesPerSecond(file.head) ?? LEAST_BYTES_PER_SECOND));
}
