/**
 * Input tokens of a call: a bound at once, a count where money is tight, a guess where an answer came without usage. One
 * for a process; owns the tokenizer thread and what settled calls have taught.
 */
import { CorrectionBook } from "./correction";
import type { TokenizerFamily } from "./families";
import { familyOf } from "./families";
import { InlineTokenizers } from "./inline-tokenizers";
import type { Prompt } from "./prompt";
import type { RequestShape } from "./request-prompt";
import { boundOf, guessOf, promptOf } from "./request-prompt";
import type { BytePairEncoding } from "./split-patterns";
import type { TextCount } from "./tokenizers";
import { countAll } from "./tokenizers";
import type { PoolOptions, Uncounted } from "./worker-pool";
import { TokenizerPool } from "./worker-pool";

export interface EstimateCall {
  readonly shape: RequestShape;
  /** The parsed body. */
  readonly body: unknown;
  /** Name at the provider. */
  readonly model: string;
  readonly providerKind: string | null;
  /** Most input tokens that the model takes; null where unknown. */
  readonly contextTokens: number | null;
}

/** A call whose body has been read. Holds its texts: keep it no longer than the call. */
export interface InputEstimate {
  /** Never below what a byte-level tokenizer makes of the request. */
  readonly bound: number;
  readonly family: TokenizerFamily;
  readonly prompt: Prompt;
  readonly model: string;
}

export interface InputCount {
  /** The best number. Equal to the vendor's where `basis` is `exact`. */
  readonly tokens: number;
  /** What to hold: at least `tokens`, at most the bound. */
  readonly hold: number;
  /** `counted`: with a margin, or with parts by unpublished rules. `bound`: not counted; both numbers are the bound. */
  readonly basis: "exact" | "counted" | "bound";
  readonly uncounted: Uncounted | "unknown_tokenizer" | "unseen_input" | null;
}

export interface EstimatorOptions {
  readonly pool?: Partial<PoolOptions>;
  /** Texts of up to so many bytes together are counted in this thread, where their tokenizer is preloaded. */
  readonly inlineBytes?: number;
}

/** Two milliseconds at the worst. */
const INLINE_BYTES = 4096;
/** Hidden tokens of newer models' framing. */
const HOLD_SPARE = 16;

/** For what was counted by rules that are not published: a tenth of framing and media, a quarter of what we serialised. */
function inferredSpare({ isInferred, fixedTokens, doubtfulTokens }: Prompt): number {
  return isInferred ? Math.ceil(Math.max(0, fixedTokens) / 10) + Math.ceil(doubtfulTokens / 4) : 0;
}

export class InputEstimator {
  readonly counts = new CorrectionBook();
  readonly guesses = new CorrectionBook();
  private readonly inline = new InlineTokenizers();
  private readonly pool: TokenizerPool;
  private readonly inlineBytes: number;

  constructor(options: EstimatorOptions = {}) {
    this.pool = new TokenizerPool(options.pool);
    this.inlineBytes = options.inlineBytes ?? INLINE_BYTES;
  }

  /** Blocks this thread for about 0.1 s and keeps about 50 MB for each encoding: before listening, if at all. */
  preload(encodings: readonly BytePairEncoding[]): Promise<void> {
    return this.inline.preload(encodings);
  }

  /** Loads a model's tokenizer in the thread, so that the first tight call does not wait for it. */
  async warm(model: string, providerKind: string | null): Promise<void> {
    const { encoding } = familyOf(model, providerKind);
    if (encoding !== null) await this.pool.warm(encoding);
  }

  /** Reads the body and bounds its input. No I/O; takes any JSON value and never throws. */
  estimate({ shape, body, model, providerKind, contextTokens }: EstimateCall): InputEstimate {
    const family = familyOf(model, providerKind);
    const prompt = promptOf(shape, body, { name: model, family });
    return { bound: boundOf(prompt, family, contextTokens), family, prompt, model };
  }

  /** Counts with the model's tokenizer. Never rejects and takes no longer than the pool's timeout: else the bound. */
  async count(estimate: InputEstimate): Promise<InputCount> {
    const { bound, family, prompt } = estimate;
    const unbounded = (uncounted: InputCount["uncounted"]): InputCount => ({
      tokens: bound,
      hold: bound,
      basis: "bound",
      uncounted,
    });
    if (family.encoding === null) return unbounded("unknown_tokenizer");
    if (prompt.isUnseen) return unbounded("unseen_input");
    const units = prompt.texts.reduce((sum, text) => sum + text.length, 0);
    const short = units <= this.inlineBytes / 2 ? this.inline.get(family.encoding) : undefined;
    const counted = short ? countAll(short, prompt.texts) : await this.pool.count(family.encoding, prompt.texts);
    return typeof counted === "string" ? unbounded(counted) : this.combine(estimate, counted);
  }

  /** Input tokens of a call that ended without usage. `counted`: what `count` said, where it was asked. */
  guess(estimate: InputEstimate, counted: InputCount | null): number {
    const isCounted = counted !== null && counted.basis !== "bound";
    const plain = isCounted ? counted.tokens : guessOf(estimate.prompt);
    const book = isCounted ? this.counts : this.guesses;
    return Math.min(estimate.bound, Math.ceil(plain * book.guessFactor(estimate.model)));
  }

  /** Learns from a settled call. Input tokens by the usage, cached ones included. */
  settled(estimate: InputEstimate, counted: InputCount | null, measuredTokens: number): void {
    if (counted !== null && counted.basis !== "bound") {
      this.counts.record(estimate.model, counted.tokens, measuredTokens);
    } else this.guesses.record(estimate.model, guessOf(estimate.prompt), measuredTokens);
  }

  /** Ends the thread; later counts answer the bound. */
  close(): Promise<void> {
    return this.pool.close();
  }

  private combine({ bound, family, prompt, model }: InputEstimate, { tokens, isExact }: TextCount): InputCount {
    const whole = Math.max(0, tokens + prompt.fixedTokens);
    const factor = this.counts.holdFactor(model, family.marginPercent);
    const hold = Math.ceil(whole * factor) + inferredSpare(prompt) + HOLD_SPARE;
    const isVendors = isExact && family.marginPercent === 100 && !prompt.isInferred;
    return {
      tokens: Math.min(bound, whole),
      hold: Math.min(bound, hold),
      basis: isVendors ? "exact" : "counted",
      uncounted: null,
    };
  }
}
