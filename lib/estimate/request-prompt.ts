/** From a request body to its prompt, and from a prompt to the bound that needs no tokenizer. */
import { addAnthropic } from "./anthropic-prompt";
import type { TokenizerFamily } from "./families";
import { addGemini } from "./gemini-prompt";
import type { JsonObject } from "./json-value";
import { objectOf } from "./json-value";
import { addChat, addCompletion, addEmbedding } from "./openai-prompt";
import type { Prompt, PromptModel } from "./prompt";
import { PromptBuilder } from "./prompt";
import { addResponses } from "./responses-prompt";

/** Whose wire format the body is in; the model behind it may be of another vendor. */
export type RequestShape =
  | "openai-chat"
  | "openai-responses"
  | "openai-completion"
  | "openai-embedding"
  | "anthropic-messages"
  | "gemini-contents";

const READERS: Readonly<Record<RequestShape, (builder: PromptBuilder, body: JsonObject) => void>> = {
  "openai-chat": addChat,
  "openai-responses": addResponses,
  "openai-completion": addCompletion,
  "openai-embedding": addEmbedding,
  "anthropic-messages": addAnthropic,
  "gemini-contents": addGemini,
};

/** Larger than any context window that is sold; holds where neither the request nor the catalogue says a bound. */
export const LARGEST_CONTEXT_TOKENS = 2_000_000;
/** For framing that vendors do not publish: beside a tenth of what is known of it. */
const INFERRED_SPARE = 64;

/** What of the body becomes input. Takes any JSON value and never throws: what cannot be read is unseen. */
export function promptOf(shape: RequestShape, body: unknown, model: PromptModel): Prompt {
  const builder = new PromptBuilder(model);
  try {
    READERS[shape](builder, objectOf(body));
    return builder.build();
  } catch (error) {
    // JSON nested deeper than the stack.
    if (!(error instanceof RangeError)) throw error;
    return { texts: [], fixedTokens: 0, spareTokens: 0, doubtfulTokens: 0, isInferred: true, isUnseen: true };
  }
}

/** Bytes in UTF-8, of the text as it is or as the tokenizer sees it, whichever are more. Lone surrogates count 3. */
export function textBytes(text: string, normalisation: TokenizerFamily["normalisation"]): number {
  const bytes = Buffer.byteLength(text);
  if (normalisation === "none" || bytes === text.length) return bytes;
  return Math.max(bytes, Buffer.byteLength(text.normalize(normalisation === "nfc" ? "NFC" : "NFKC")));
}

/**
 * Upper bound of input tokens without counting: a byte-level tokenizer never gives more tokens than the text has bytes,
 * and no vendor takes more than the model's context (`contextTokens`, null where unknown).
 */
export function boundOf(prompt: Prompt, family: TokenizerFamily, contextTokens: number | null): number {
  let tokens = prompt.fixedTokens + prompt.spareTokens;
  for (const text of prompt.texts) tokens += textBytes(text, family.normalisation);
  if (prompt.isInferred) tokens += INFERRED_SPARE + Math.ceil(Math.max(0, prompt.fixedTokens) / 10);
  if (prompt.isUnseen) return contextTokens ?? Math.max(tokens, LARGEST_CONTEXT_TOKENS);
  return Math.max(0, contextTokens === null ? tokens : Math.min(tokens, contextTokens));
}

/** Prose in Latin letters has about four bytes a token; other scripts take about three quarters of a token a letter. */
const ASCII_PER_TOKEN = 4;
const TOKENS_PER_OTHER = 0.75;

/** A plain guess of input tokens, for calls that end without usage and were not counted. */
export function guessOf(prompt: Prompt): number {
  let units = 0;
  let others = 0;
  for (const text of prompt.texts) {
    units += text.length;
    // Every letter beyond ASCII has one to three bytes more than units; most of those met have two.
    others += Math.min(text.length, Math.ceil((Buffer.byteLength(text) - text.length) / 2));
  }
  const guess = (units - others) / ASCII_PER_TOKEN + others * TOKENS_PER_OTHER + prompt.fixedTokens;
  return Math.max(0, Math.ceil(guess));
}
