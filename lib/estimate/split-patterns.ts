/** The pieces of each of gpt-tokenizer's encodings, by its own patterns. */
import {
  CL100K_TOKEN_SPLIT_REGEX,
  O200K_TOKEN_SPLIT_REGEX,
  R50K_TOKEN_SPLIT_REGEX,
} from "gpt-tokenizer/encodingParams/constants";
import type { Encoding } from "./families";

/** The vocabularies that gpt-tokenizer has. */
export type BytePairEncoding = Exclude<Encoding, "qwen3" | "deepseek_v3">;

export function splitPatternOf(encoding: BytePairEncoding): RegExp {
  if (encoding === "o200k_base") return O200K_TOKEN_SPLIT_REGEX;
  return encoding === "cl100k_base" ? CL100K_TOKEN_SPLIT_REGEX : R50K_TOKEN_SPLIT_REGEX;
}
