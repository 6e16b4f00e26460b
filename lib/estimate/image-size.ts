/**
 * Width and height from the head of a picture: PNG (RFC 2083), JPEG (ITU T.81, SOF segments), GIF89a, WebP (RFC 9649).
 * Only the head is decoded, never the picture.
 */

export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

/** A JPEG may carry several metadata segments of 64 KiB before its size. */
const HEADS_BYTES = [4 * 1024, 256 * 1024, 1024 * 1024];

const DATA_URL = /^data:[^,]{0,200};base64,/iu;

function sizeOf(width: number, height: number): ImageSize | undefined {
  return width > 0 && height > 0 ? { width, height } : undefined;
}

function png(head: Buffer): ImageSize | undefined {
  return head.length >= 24 ? sizeOf(head.readUInt32BE(16), head.readUInt32BE(20)) : undefined;
}

/** The logical screen. */
function gif(head: Buffer): ImageSize | undefined {
  return head.length >= 10 ? sizeOf(head.readUInt16LE(6), head.readUInt16LE(8)) : undefined;
}

function webp(head: Buffer): ImageSize | undefined {
  if (head.length < 30) return undefined;
  const format = head.toString("latin1", 12, 16);
  if (format === "VP8 ") return sizeOf(head.readUInt16LE(26) & 0x3fff, head.readUInt16LE(28) & 0x3fff);
  if (format === "VP8X") return sizeOf(head.readUIntLE(24, 3) + 1, head.readUIntLE(27, 3) + 1);
  if (format !== "VP8L") return undefined;
  const bits = head.readUInt32LE(21);
  return sizeOf((bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1);
}

/** Start-of-frame markers are C0 to CF without the tables C4, C8 and CC. */
function isFrame(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
}

function jpeg(head: Buffer): ImageSize | undefined {
  let at = 2;
  while (at + 9 <= head.length) {
    if (head[at] !== 0xff) return undefined;
    const marker = head[at + 1] ?? 0;
    // Fill bytes and markers that stand alone have no length.
    if (marker === 0xff) at += 1;
    else if (marker === 0x01 || (marker >= 0xd0 && marker <= 0xd7)) at += 2;
    else if (isFrame(marker)) return sizeOf(head.readUInt16BE(at + 7), head.readUInt16BE(at + 5));
    else at += 2 + head.readUInt16BE(at + 2);
  }
  return undefined;
}

function fromHead(head: Buffer): ImageSize | undefined {
  const start = head.toString("latin1", 0, 12);
  if (start.startsWith("\x89PNG\r\n\x1a\n")) return png(head);
  if (start.startsWith("\xff\xd8")) return jpeg(head);
  if (start.startsWith("GIF8")) return gif(head);
  if (start.startsWith("RIFF") && start.endsWith("WEBP")) return webp(head);
  return undefined;
}

/** The base64 part of a data URL; undefined for any other address. */
export function base64OfDataUrl(url: string): string | undefined {
  const head = DATA_URL.exec(url.slice(0, 256))?.[0];
  return head === undefined ? undefined : url.slice(head.length);
}

/** Bytes that `base64` stands for, or a few more. */
export function base64Bytes(base64: string): number {
  return Math.ceil((base64.length * 3) / 4);
}

/** Pixels of a picture given in base64; undefined where the format is another or the head is broken. */
export function imageSizeOfBase64(base64: string): ImageSize | undefined {
  for (const bytes of HEADS_BYTES) {
    const size = fromHead(Buffer.from(base64.slice(0, Math.ceil(bytes / 3) * 4), "base64"));
    if (size || base64Bytes(base64) <= bytes) return size;
  }
  return undefined;
}
