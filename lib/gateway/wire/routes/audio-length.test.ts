/** A header is believed only where a decoder has to believe it too: what is held may not be a fraction of what is heard. */
import { describe, expect, it } from "vitest";
import { audioSecondsBound } from "./audio-length";

interface Format {
  readonly tag: number;
  readonly channels?: number;
  readonly rate?: number;
  readonly bits?: number;
  /** First two bytes of the sub-format of the extensible tag. */
  readonly subFormat?: number;
}

const EXTENSIBLE = 0xfffe;
const BYTES = 1_000_000;

function head({ tag, channels = 2, rate = 48_000, bits = 16, subFormat }: Format): Uint8Array {
  const view = new DataView(new ArrayBuffer(80));
  const text = (at: number, letters: string) =>
    [...letters].forEach((letter, i) => view.setUint8(at + i, letter.charCodeAt(0)));
  text(0, "RIFF");
  text(8, "WAVEfmt ");
  view.setUint32(16, subFormat === undefined ? 16 : 40, true);
  view.setUint16(20, tag, true);
  view.setUint16(22, channels, true);
  view.setUint32(24, rate, true);
  view.setUint16(34, bits, true);
  if (subFormat !== undefined) view.setUint16(44, subFormat, true);
  return new Uint8Array(view.buffer);
}

function secondsOf(format: Format): number {
  return audioSecondsBound({ bytes: BYTES, head: head(format) });
}

/** By the bytes alone, for the slowest speech codec. */
const BY_BYTES = 2_000;

describe("the length of a recording", () => {
  it.each<Format>([{ tag: 1 }, { tag: 3, bits: 32 }, { tag: EXTENSIBLE, subFormat: 1 }])(
    "is that of its header where every sample has its bytes: %j",
    (format) => {
      expect(secondsOf(format)).toBe(Math.ceil(BYTES / (48_000 * 2 * ((format.bits ?? 16) / 8))));
    },
  );

  it.each<Format>([
    { tag: EXTENSIBLE, subFormat: 0x55 },
    { tag: EXTENSIBLE, subFormat: 0x11 },
    { tag: EXTENSIBLE },
    { tag: 1, bits: 65_528 },
    { tag: 1, bits: 1 },
    { tag: 0x55 },
  ])("is that of its bytes where the header may hide a codec or cannot be: %j", (format) => {
    expect(secondsOf(format)).toBe(BY_BYTES);
  });
});
