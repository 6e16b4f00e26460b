/**
 * What of a request becomes input: texts to be counted, and tokens that are known without counting. One walk over the
 * body makes both the exact count and its bound, so that the bound can only be larger: the same texts by their bytes
 * instead of their tokens, the same fixed tokens, and what the count leaves out.
 */
import { audioTokens } from "./audio-tokens";
import type { TokenizerFamily, Vendor } from "./families";
import { base64OfDataUrl, imageSizeOfBase64 } from "./image-size";
import type { ImageDetail } from "./image-tokens";
import { imageTokens } from "./image-tokens";

export interface Prompt {
  readonly texts: readonly string[];
  /** Framing, hidden prompts and media, in tokens. May be negative where a vendor's framing saves tokens. */
  readonly fixedTokens: number;
  /** In the bound only: what a vendor may add to the texts, and members that nobody is known to count. */
  readonly spareTokens: number;
  /** About how many tokens of the texts are in a writing that the vendor does not publish: schemas, calls of tools. */
  readonly doubtfulTokens: number;
  /** Something was counted by a rule that the vendor does not publish: tools, framing of closed models, remote pictures. */
  readonly isInferred: boolean;
  /** Input that is not in the request (an earlier conversation, a stored file): only the model's context bounds it. */
  readonly isUnseen: boolean;
}

export interface PromptModel {
  /** Name at the provider. */
  readonly name: string;
  readonly family: TokenizerFamily;
}

/** How a vendor frames messages. Tokens. */
export interface Framing {
  readonly perMessage: number;
  readonly perName: number;
  /** The start of the answer. */
  readonly reply: number;
  readonly perToolCall: number;
  /** What tells a model that it has tools, beside their schemas. */
  readonly toolsPrompt: number;
  /** System prompt of the template where the request has none. */
  readonly defaultSystem: number;
}

/**
 * Sources. OpenAI: the cookbook's "How to count tokens" (3 a message, 1 a name, 3 for the reply). Qwen and DeepSeek: chat
 * templates of the open weights, rounded up. Anthropic: docs' examples of count_tokens. Others: more than any of these.
 */
const FRAMINGS: Readonly<Record<Vendor, Framing>> = {
  openai: { perMessage: 3, perName: 1, reply: 3, perToolCall: 8, toolsPrompt: 9, defaultSystem: 0 },
  qwen: { perMessage: 4, perName: 2, reply: 8, perToolCall: 16, toolsPrompt: 170, defaultSystem: 24 },
  deepseek: { perMessage: 2, perName: 2, reply: 4, perToolCall: 16, toolsPrompt: 300, defaultSystem: 0 },
  anthropic: { perMessage: 4, perName: 2, reply: 8, perToolCall: 24, toolsPrompt: 346, defaultSystem: 0 },
  gemini: { perMessage: 4, perName: 2, reply: 4, perToolCall: 16, toolsPrompt: 100, defaultSystem: 0 },
  other: { perMessage: 8, perName: 2, reply: 16, perToolCall: 32, toolsPrompt: 512, defaultSystem: 64 },
};

/** More than anybody has measured of a conversation without tools. */
const HIDDEN_TOKENS = 16;
const COLON = 58;
const COMMA = 44;

function separatorsIn(json: string): number {
  let count = 0;
  for (let at = 0; at < json.length; at += 1) {
    const code = json.charCodeAt(at);
    if (code === COLON || code === COMMA) count += 1;
  }
  return count;
}

export class PromptBuilder {
  readonly framing: Framing;
  readonly vendor: Vendor;
  private readonly texts: string[] = [];
  private fixedTokens = 0;
  private spareTokens = 0;
  private doubtfulTokens = 0;
  private isInferred = false;
  private isUnseen = false;

  constructor(readonly model: PromptModel) {
    this.vendor = model.family.vendor;
    this.framing = FRAMINGS[this.vendor];
  }

  text(value: string): void {
    if (value !== "") this.texts.push(value);
  }

  fixed(tokens: number): void {
    this.fixedTokens += tokens;
  }

  /** The start of the answer, and in the bound what newer models put before a conversation. */
  reply(): void {
    this.fixed(this.framing.reply);
    this.spare(HIDDEN_TOKENS);
  }

  spare(tokens: number): void {
    this.spareTokens += tokens;
  }

  inferred(): void {
    this.isInferred = true;
  }

  unseen(): void {
    this.isUnseen = true;
    this.isInferred = true;
  }

  /** A text that we made in the place of the vendor's. */
  serialised(text: string): void {
    this.text(text);
    this.doubtfulTokens += Math.ceil(Buffer.byteLength(text) / 4);
    this.inferred();
  }

  /** A value that the vendor writes into the prompt as JSON; with spaces after separators at some of them. */
  json(value: unknown): void {
    const text = JSON.stringify(value) as string | undefined;
    if (text === undefined) return;
    this.serialised(text);
    this.spare(separatorsIn(text));
  }

  /** Members that no vendor is known to count. */
  uncounted(value: unknown): void {
    const text = JSON.stringify(value) as string | undefined;
    if (text !== undefined) this.spare(Buffer.byteLength(text));
  }

  imageOfUrl(url: string | undefined, detail: ImageDetail): void {
    const base64 = url === undefined ? undefined : base64OfDataUrl(url);
    this.imageOfBase64(base64, detail);
  }

  /** `base64` undefined: a picture somewhere else, of any size. */
  imageOfBase64(base64: string | undefined, detail: ImageDetail): void {
    const size = base64 === undefined ? undefined : imageSizeOfBase64(base64);
    const { name, family } = this.model;
    const model = { name: name.toLowerCase(), vendor: family.vendor, familyId: family.id };
    this.fixed(imageTokens(model, size, detail));
    this.inferred();
  }

  audio(base64: string, format: string): void {
    this.fixed(audioTokens(this.vendor, base64, format));
    this.inferred();
  }

  build(): Prompt {
    const { texts, fixedTokens, spareTokens, doubtfulTokens, isInferred, isUnseen } = this;
    return { texts, fixedTokens, spareTokens, doubtfulTokens, isInferred, isUnseen };
  }
}
