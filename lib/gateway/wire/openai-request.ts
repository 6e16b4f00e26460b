/**
 * The quick reading of an OpenAI body (API reference: create chat completion, create embeddings): most calls are text and
 * nothing else. What bills beside tokens (pictures, search, sound, tiers) is read by the route's own parser. Everything the
 * gateway does not know passes through untouched; what it prices or limits by must be well-formed.
 */
import type { Denial } from "@/lib/domain/denial";
import type { JsonScan } from "./json-scan";
import type { Body } from "./routes/fields";
import {
  endUserOf,
  flag,
  Invalid,
  isBody,
  MAX_OUTPUT_TOKENS,
  modelOf,
  parseJsonBody,
  textBytes,
  wholeNumber,
} from "./routes/fields";
import { chatShape, maySellMore } from "./routes/openai-chat";
import { embeddingShape } from "./routes/openai-other";
import type { JsonRequest, RequestShape } from "./routes/route-request";
import { NO_EXTRAS } from "./routes/route-request";

export interface ParsedRequest {
  readonly text: string;
  readonly scan: JsonScan;
  /** The parsed body, for what only some calls need: counting, translation. */
  readonly body: Body;
  readonly bodyBytes: number;
  readonly model: string;
  readonly isStream: boolean;
  /** Whether the client asked for the usage chunk of a stream. */
  readonly wantsUsage: boolean;
  /** Output tokens one choice may have by the caller's word; null where none was said. */
  readonly outputCap: number | null;
  readonly choices: number;
  /** Upper bound of input tokens. */
  readonly inputBound: number;
  /** A plain guess of input tokens, for calls that end without usage. */
  readonly inputGuess: () => number;
  /** Output tokens beyond the cap that may be billed (rejected predictions). */
  readonly extraOutput: number;
  readonly endUser: string | null;
}

const MAX_CHOICES = 128;
const FRAMING_TOKENS_PER_MESSAGE = 3;
const FRAMING_TOKENS = 3;

function isText(part: unknown): boolean {
  return isBody(part) && (part.type === "text" || part.type === "refusal");
}

/** Whether a message holds, or a member asks for, what is billed beside text. */
function isRich(body: Body, messages: readonly unknown[]): boolean {
  if (body.web_search_options !== undefined || body.modalities !== undefined || body.service_tier !== undefined)
    return true;
  if (body.best_of !== undefined || maySellMore(body)) return true;
  for (const message of messages) {
    const { content, audio } = isBody(message) ? message : {};
    const isSpoken = audio !== undefined && audio !== null;
    if (isSpoken || (Array.isArray(content) && !content.every(isText))) return true;
  }
  return false;
}

function wantsUsage(body: Body): boolean {
  const options = body.stream_options;
  if (options === undefined || options === null) return false;
  if (!isBody(options)) throw new Invalid("stream_options", "stream_options must be an object");
  return flag(options, "include_usage", "stream_options.include_usage");
}

function quickChat(body: Body, bodyBytes: number): RequestShape {
  const { messages } = body;
  if (!Array.isArray(messages) || messages.length === 0)
    throw new Invalid("messages", "messages must be a list with at least one message");
  if (!messages.every(isBody)) throw new Invalid("messages", "every message must be an object");
  if (isRich(body, messages)) return chatShape(body, bodyBytes);
  const newer = wholeNumber(body, "max_completion_tokens", 1, MAX_OUTPUT_TOKENS);
  const older = wholeNumber(body, "max_tokens", 1, MAX_OUTPUT_TOKENS);
  const framing = messages.length * FRAMING_TOKENS_PER_MESSAGE + FRAMING_TOKENS;
  return {
    model: modelOf(body),
    kind: "chat",
    isStream: flag(body, "stream"),
    wantsUsage: wantsUsage(body),
    // Where both are said a server may obey either: hold for the larger.
    outputCap: newer === null && older === null ? null : Math.max(newer ?? 0, older ?? 0),
    choices: wholeNumber(body, "n", 1, MAX_CHOICES) ?? 1,
    // Byte-level BPE never gives more tokens than bytes, and JSON never fewer bytes than its text.
    inputBound: bodyBytes + framing,
    inputGuess: () => Math.ceil(textBytes(messages) / 4) + framing,
    extraOutput: body.prediction === undefined || body.prediction === null ? 0 : textBytes(body.prediction),
    endUser: endUserOf(body),
    extras: NO_EXTRAS,
  };
}

/** Parses a body, or says in one sentence what is wrong with it. */
export function parseOpenAiRequest(bytes: Uint8Array, kind: "chat" | "embedding"): JsonRequest | Denial {
  return parseJsonBody(bytes, kind === "chat" ? quickChat : embeddingShape);
}
