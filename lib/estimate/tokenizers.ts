/**
 * Counting texts with a loaded tokenizer. Special tokens in the text are plain text: a user who writes <|endoftext|> has
 * written thirteen letters.
 */

export interface TextCount {
  readonly tokens: number;
  /** False where a part was counted by its bytes, which is never too few. */
  readonly isExact: boolean;
}

export interface TextTokenizer {
  count(text: string): TextCount;
  /** Drops what was remembered of counted texts. */
  forget(): void;
}

/** What is used of `gpt-tokenizer/encoding/*`. */
export interface BytePairModule {
  countTokens(text: string, options: { disallowedSpecial: Set<string> }): number;
  setMergeCacheSize(size: number): void;
  clearMergeCache(): void;
}

/** What is used of a tokenizer of `@lenml/tokenizers`. */
export interface HubTokenizer {
  _encode_text(text: string): readonly string[] | null;
}

/**
 * gpt-tokenizer merges a piece (a word, a run of blanks or signs) in quadratic time: 20,000 Han letters without a stop
 * take two seconds. Pieces above this many bytes, which prose does not have, are counted by their bytes.
 */
export const LONG_PIECE_BYTES = 1024;
/** Remembered pieces keep the text alive that they were cut from, so they are few. */
const REMEMBERED_PIECES = 1000;

const PLAIN = { disallowedSpecial: new Set<string>() };

/** Blank in Unicode and not in JavaScript's \s, or the other way round: vendors' patterns mean Unicode. */
const ODD_BLANKS = /[\u0085\uFEFF]/u;

/** Whether a run without a change between blank and non-blank, which no piece crosses in its middle, is that long. */
function mayHaveLongPiece(text: string): boolean {
  if (text.length * 3 <= LONG_PIECE_BYTES) return false;
  let run = 0;
  let wasBlank = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    const isBlank = code <= 32;
    if (isBlank !== wasBlank) run = 0;
    wasBlank = isBlank;
    run += code < 0x80 ? 1 : 3;
    if (run > LONG_PIECE_BYTES) return true;
  }
  return false;
}

function asUnicode(pattern: RegExp): RegExp {
  const source = pattern.source.replaceAll(String.raw`\s`, String.raw`\p{White_Space}`);
  return new RegExp(source.replaceAll(String.raw`\S`, String.raw`\P{White_Space}`), pattern.flags);
}

/** `pattern` is the encoding's own for pieces. */
export function bytePairTokenizer(module: BytePairModule, pattern: RegExp): TextTokenizer {
  module.setMergeCacheSize(REMEMBERED_PIECES);
  const pieces = asUnicode(pattern);
  const isOnePiece = (text: string): boolean => text.match(pattern)?.[0] === text;
  const isCountable = (piece: string): boolean => {
    if (piece.length * 3 > LONG_PIECE_BYTES && Buffer.byteLength(piece) > LONG_PIECE_BYTES) return false;
    return !ODD_BLANKS.test(piece) || isOnePiece(piece);
  };
  const countPieces = (text: string): TextCount => {
    let tokens = 0;
    let isExact = true;
    for (const [piece] of text.matchAll(pieces)) {
      if (isCountable(piece)) tokens += module.countTokens(piece, PLAIN);
      else {
        tokens += Buffer.byteLength(piece);
        isExact = false;
      }
    }
    return { tokens, isExact };
  };
  return {
    count: (text) =>
      ODD_BLANKS.test(text) || mayHaveLongPiece(text)
        ? countPieces(text)
        : { tokens: module.countTokens(text, PLAIN), isExact: true },
    forget: () => {
      module.clearMergeCache();
    },
  };
}

/** Merges in n log n, and remembers short pieces only. Its patterns cannot be mended from here. */
export function hubTokenizer(tokenizer: HubTokenizer): TextTokenizer {
  return {
    count: (text) =>
      ODD_BLANKS.test(text)
        ? { tokens: Buffer.byteLength(text), isExact: false }
        : { tokens: tokenizer._encode_text(text)?.length ?? 0, isExact: true },
    forget: () => undefined,
  };
}

export function countAll(tokenizer: TextTokenizer, texts: readonly string[]): TextCount {
  let tokens = 0;
  let isExact = true;
  for (const text of texts) {
    const count = tokenizer.count(text);
    tokens += count.tokens;
    isExact &&= count.isExact;
  }
  return { tokens, isExact };
}
