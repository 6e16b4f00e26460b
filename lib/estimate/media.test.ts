import { describe, expect, it } from "vitest";
import { audioSeconds, audioTokens } from "./audio-tokens";
import { familyOf } from "./families";
import { base64OfDataUrl, imageSizeOfBase64 } from "./image-size";
import type { ImageDetail } from "./image-tokens";
import { imageTokens } from "./image-tokens";

const tokens = (name: string, width: number | null, height = 0, detail: ImageDetail = "auto") => {
  const { vendor, id } = familyOf(name, null);
  return imageTokens({ name, vendor, familyId: id }, width === null ? undefined : { width, height }, detail);
};

function png(width: number, height: number): Buffer {
  const head = Buffer.alloc(33);
  head.write("\x89PNG\r\n\x1a\n", "latin1");
  head.writeUInt32BE(13, 8);
  head.write("IHDR", 12, "latin1");
  head.writeUInt32BE(width, 16);
  head.writeUInt32BE(height, 20);
  return head;
}

/** Start, metadata segments of the given sizes, then the frame. */
function jpeg(width: number, height: number, ...metadata: number[]): Buffer {
  const segments = metadata.map((bytes) => {
    const segment = Buffer.alloc(bytes + 2, 0xd9);
    segment.writeUInt16BE(0xffe1, 0);
    segment.writeUInt16BE(bytes, 2);
    return segment;
  });
  const frame = Buffer.from([0xff, 0xc2, 0, 17, 8, height >> 8, height & 255, width >> 8, width & 255, 3]);
  const table = Buffer.from([0xff, 0xc4, 0, 4, 1, 2]);
  return Buffer.concat([Buffer.from([0xff, 0xd8]), ...segments, table, frame, Buffer.alloc(12)]);
}

function webp(format: "VP8 " | "VP8L" | "VP8X", width: number, height: number): Buffer {
  const head = Buffer.alloc(40);
  head.write("RIFF", 0, "latin1");
  head.write(`WEBP${format}`, 8, "latin1");
  if (format === "VP8 ") {
    head.writeUInt16LE(width, 26);
    head.writeUInt16LE(height, 28);
  } else if (format === "VP8X") {
    head.writeUIntLE(width - 1, 24, 3);
    head.writeUIntLE(height - 1, 27, 3);
  } else {
    head[20] = 0x2f;
    head.writeUInt32LE(((width - 1) | ((height - 1) << 14)) >>> 0, 21);
  }
  return head;
}

function gif(width: number, height: number): Buffer {
  const head = Buffer.alloc(20);
  head.write("GIF89a", "latin1");
  head.writeUInt16LE(width, 6);
  head.writeUInt16LE(height, 8);
  return head;
}

describe("the size of a picture", () => {
  it.each([
    ["PNG", png(640, 480)],
    ["JPEG", jpeg(640, 480)],
    ["JPEG behind 200 KB of metadata", jpeg(640, 480, 65_000, 65_000, 65_000)],
    ["JPEG behind 600 KB of metadata", jpeg(640, 480, ...Array.from({ length: 10 }, () => 60_000))],
    ["GIF", gif(640, 480)],
    ["WebP, lossy", webp("VP8 ", 640, 480)],
    ["WebP, lossless", webp("VP8L", 640, 480)],
    ["WebP, extended", webp("VP8X", 640, 480)],
  ])("is read from the head of a %s", (_format, bytes) => {
    expect(imageSizeOfBase64(bytes.toString("base64"))).toEqual({ width: 640, height: 480 });
  });

  it("is unknown where the head is cut, empty, of no size or of another format", () => {
    const heads = [
      png(5, 5).subarray(0, 20),
      jpeg(5, 5).subarray(0, 12),
      gif(0, 5),
      Buffer.alloc(0),
      Buffer.from("<svg/>"),
    ];
    for (const head of heads) expect(imageSizeOfBase64(head.toString("base64"))).toBeUndefined();
  });

  it("comes from data URLs only", () => {
    expect(base64OfDataUrl("data:image/png;base64,AAAA")).toBe("AAAA");
    expect(base64OfDataUrl("data:image/svg+xml;charset=utf-8;base64,AAAA")).toBe("AAAA");
    expect(base64OfDataUrl("https://example.com/a.png")).toBeUndefined();
    expect(base64OfDataUrl("data:image/png,AAAA")).toBeUndefined();
  });
});

describe("tokens of a picture", () => {
  it.each([
    ["gpt-4o", 1024, 1024, "high", 765],
    ["gpt-4o", 2048, 4096, "high", 1105],
    ["gpt-4o", 4096, 8192, "low", 85],
    ["gpt-4o-mini", 512, 512, "high", 2833 + 5667],
    ["gpt-4.1-mini", 1024, 1024, "auto", Math.ceil(1024 * 1.62)],
    ["gpt-4.1-mini", 1800, 2400, "auto", Math.ceil(1452 * 1.62)],
    ["o4-mini", 1024, 1024, "auto", Math.ceil(1024 * 1.72)],
    ["o1", 512, 512, "high", 225],
    ["claude-sonnet-4-5", 1000, 1000, "auto", 1334],
    ["claude-sonnet-4-5", 4000, 4000, "auto", 1600],
    ["claude-opus-4-7", 4000, 4000, "auto", 4800],
  ] as const)("%s, %i x %i, %s: %i, as the vendor's documents say", (model, width, height, detail, expected) => {
    expect(tokens(model, width, height, detail)).toBe(expected);
  });

  it("are the higher of two rules where sources disagree", () => {
    // Tiles say 70 + 140 x 4 = 630, patches 1,024 x 1.2.
    expect(tokens("gpt-5", 1024, 1024)).toBe(1229);
  });

  it("of a picture that is elsewhere are not below those of any picture", () => {
    const sizes = [1, 31, 200, 384, 385, 512, 513, 768, 1024, 1568, 2048, 3000, 8000];
    for (const model of [
      "gpt-4o",
      "gpt-4o-mini",
      "gpt-5",
      "gpt-5-nano",
      "gpt-5.4",
      "o3",
      "claude-opus-4-8",
      "gemini-2.5-pro",
      "qwen3-32b",
      "glm-5",
    ]) {
      const most = tokens(model, null);
      for (const width of sizes)
        for (const height of sizes) expect(tokens(model, width, height)).toBeLessThanOrEqual(most);
    }
  });
});

function wav(seconds: number, rate: number, channels: number, bits: number): string {
  const perSecond = (rate * channels * bits) / 8;
  const head = Buffer.alloc(44);
  head.write("RIFF", 0, "latin1");
  head.write("WAVEfmt ", 8, "latin1");
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(channels, 22);
  head.writeUInt32LE(rate, 24);
  head.writeUInt32LE(perSecond, 28);
  head.writeUInt16LE((channels * bits) / 8, 32);
  head.writeUInt16LE(bits, 34);
  head.write("data", 36, "latin1");
  // Streamed files say so: the length is not known.
  head.writeUInt32LE(0xffff_ffff, 40);
  return Buffer.concat([head, Buffer.alloc(seconds * perSecond)]).toString("base64");
}

describe("tokens of a sound", () => {
  it("follow the duration in the head of a WAV", () => {
    expect(audioSeconds(wav(3, 16_000, 1, 16), "wav")).toBeCloseTo(3, 2);
    expect(audioSeconds(wav(2, 44_100, 2, 16), "wav")).toBeCloseTo(2, 2);
    expect(audioTokens("openai", wav(3, 16_000, 1, 16), "wav")).toBeGreaterThanOrEqual(30);
    expect(audioTokens("openai", wav(3, 16_000, 1, 16), "wav")).toBeLessThanOrEqual(32);
  });

  it("are bounded by the bytes at the lowest bit rate of other formats", () => {
    const base64 = Buffer.alloc(10_000, 0xff).toString("base64");
    expect(audioSeconds(base64, "mp3")).toBeGreaterThanOrEqual(10);
    expect(audioSeconds(base64, "flac")).toBeGreaterThanOrEqual(audioSeconds(base64, "mp3"));
  });

  it("of a head that says two rates are those of the longer sound", () => {
    const bytes = Buffer.from(wav(3, 16_000, 1, 16), "base64");
    bytes.writeUInt32LE(4_000_000, 28);
    expect(audioSeconds(bytes.toString("base64"), "wav")).toBeCloseTo(3, 2);
  });
});
