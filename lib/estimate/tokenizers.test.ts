import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import * as cl100k from "gpt-tokenizer/encoding/cl100k_base";
import * as o200k from "gpt-tokenizer/encoding/o200k_base";
import { beforeAll, describe, expect, it } from "vitest";
import { InlineTokenizers } from "./inline-tokenizers";
import { textBytes } from "./request-prompt";
import type { BytePairEncoding } from "./split-patterns";
import { countAll, LONG_PIECE_BYTES } from "./tokenizers";

interface Vector {
  readonly encoding: BytePairEncoding;
  readonly text: string;
  readonly tokens: readonly number[];
  readonly count: number;
  readonly options?: string;
}

const file = join(import.meta.dirname, "testing", "tokenizer-vectors.json");
const { vectors } = JSON.parse(readFileSync(file, "utf8")) as { vectors: Vector[] };
const ENCODINGS: readonly BytePairEncoding[] = [
  "gpt2",
  "r50k_base",
  "p50k_base",
  "p50k_edit",
  "cl100k_base",
  "o200k_base",
];
/** The library on the whole text, without our care for long pieces. */
const MODULES = { cl100k_base: cl100k, o200k_base: o200k };
const trueCount = (encoding: keyof typeof MODULES, text: string) =>
  MODULES[encoding].countTokens(text, { disallowedSpecial: new Set() });

const inline = new InlineTokenizers();
const tokenizer = (encoding: BytePairEncoding) => {
  const loaded = inline.get(encoding);
  if (!loaded) throw new Error("not loaded");
  return loaded;
};

beforeAll(() => inline.preload(ENCODINGS));

describe("counts", () => {
  it("are those of all 429 vectors, special tokens as plain text", () => {
    expect(vectors).toHaveLength(429);
    const plain = vectors.filter((vector) => vector.options === undefined);
    expect(plain).toHaveLength(427);
    const wrong = plain.filter(({ encoding, text, count }) => {
      const counted = tokenizer(encoding).count(text);
      return counted.tokens !== count || !counted.isExact;
    });
    expect(wrong).toEqual([]);
  });

  it("are those of the two vectors that allow the special token: its text, and one", () => {
    const special = vectors.filter((vector) => vector.options === "allowed_special=all");
    expect(special).toHaveLength(2);
    for (const { encoding, text, count } of special) {
      expect(tokenizer(encoding).count(text.replace("<|endoftext|>", "")).tokens + 1).toBe(count);
      expect(tokenizer(encoding).count(text).tokens).toBeGreaterThan(count);
    }
  });

  it("never exceed the bytes of any text", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...ENCODINGS),
        fc.oneof(fc.string({ unit: "binary", maxLength: 300 }), fc.string({ unit: "grapheme", maxLength: 300 })),
        (encoding, text) => {
          expect(tokenizer(encoding).count(text).tokens).toBeLessThanOrEqual(textBytes(text, "none"));
        },
      ),
      { numRuns: 300 },
    );
  });

  it("of a text with a piece too long to merge are never below the true ones, and say that they are not exact", () => {
    for (const letter of ["汉", "a", " ", "-"]) {
      const text = `before ${letter.repeat(LONG_PIECE_BYTES + 1)} after`;
      for (const encoding of ["cl100k_base", "o200k_base"] as const) {
        const counted = tokenizer(encoding).count(text);
        expect(counted.isExact).toBe(false);
        expect(counted.tokens).toBeGreaterThanOrEqual(trueCount(encoding, text));
        expect(counted.tokens).toBeLessThanOrEqual(textBytes(text, "none"));
      }
    }
  });

  it("take blanks as Unicode does, not as JavaScript does", () => {
    expect(tokenizer("cl100k_base").count(" \u00850")).toEqual({ tokens: 4, isExact: true });
    // A byte order mark before a word is the word's first letter to both.
    expect(tokenizer("o200k_base").count("\uFEFFhello world").isExact).toBe(true);
    expect(tokenizer("o200k_base").count("a !\uFEFF! b").isExact).toBe(false);
  });

  it("are exact for long texts without blanks whose pieces are short", () => {
    const sentence = "预算用尽之前先提醒，再换便宜的模型，最后才拒绝。";
    for (const text of [sentence.repeat(200), "a1b2".repeat(2000), `{"a":1,"b":[2,3]}`.repeat(300)]) {
      for (const encoding of ["cl100k_base", "o200k_base"] as const) {
        expect(tokenizer(encoding).count(text)).toEqual({ tokens: trueCount(encoding, text), isExact: true });
      }
    }
  });

  it("of several texts are the sum", () => {
    const counter = tokenizer("o200k_base");
    expect(countAll(counter, ["hello world", "", "你好"])).toEqual({
      tokens: counter.count("hello world").tokens + counter.count("你好").tokens,
      isExact: true,
    });
  });
});
