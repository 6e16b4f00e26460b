/**
 * Tokenizers in this thread, for texts so short that a trip to the worker costs more than counting. Loading one blocks
 * for a tenth of a second and takes about 50 MB, so none is loaded but by `preload`, before a host listens. The large
 * vocabularies (Qwen, DeepSeek) are never loaded here.
 */
import type { Encoding } from "./families";
import type { BytePairEncoding } from "./split-patterns";
import { splitPatternOf } from "./split-patterns";
import type { BytePairModule, TextTokenizer } from "./tokenizers";
import { bytePairTokenizer } from "./tokenizers";

const MODULES: Readonly<Record<BytePairEncoding, () => Promise<BytePairModule>>> = {
  gpt2: () => import("gpt-tokenizer/encoding/gpt2"),
  r50k_base: () => import("gpt-tokenizer/encoding/r50k_base"),
  p50k_base: () => import("gpt-tokenizer/encoding/p50k_base"),
  p50k_edit: () => import("gpt-tokenizer/encoding/p50k_edit"),
  cl100k_base: () => import("gpt-tokenizer/encoding/cl100k_base"),
  o200k_base: () => import("gpt-tokenizer/encoding/o200k_base"),
};

export class InlineTokenizers {
  private readonly loaded = new Map<Encoding, TextTokenizer>();

  async preload(encodings: readonly BytePairEncoding[]): Promise<void> {
    for (const encoding of encodings) {
      this.loaded.set(encoding, bytePairTokenizer(await MODULES[encoding](), splitPatternOf(encoding)));
    }
  }

  get(encoding: Encoding): TextTokenizer | undefined {
    return this.loaded.get(encoding);
  }
}
