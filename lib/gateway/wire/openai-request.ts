/**
 * What the gateway reads of an OpenAI request body (API reference: create chat completion, create embeddings). Everything
 * it does not know passes through untouched; what it prices or limits by must be well-formed.
 */
import type { Denial } from "@/lib/domain/denial";
import { denial } from "@/lib/domain/denial";
import type { JsonScan } from "./json-scan";
import { scanJson } from "./json-scan";

export interface ParsedRequest {
  readonly text: string;
  readonly scan: JsonScan;
  readonly bodyBytes: number;
  readonly model: string;
  readonly kind: "chat" | "embedding";
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

/** One for all bodies: making a decoder costs more than using it. */
const utf8 = new TextDecoder("utf-8", { fatal: true });
const MAX_MODEL_NAME = 200;
const MAX_OUTPUT = 10_000_000;
const MAX_CHOICES = 128;
/** More than any vendor's tile or patch rule gives for one picture; exact rules come with the estimators. */
const TOKENS_PER_MEDIA_PART = 50_000;
const FRAMING_TOKENS_PER_MESSAGE = 3;
const FRAMING_TOKENS = 3;

class Invalid extends Error {
  constructor(
    readonly param: string,
    readonly detail: string,
  ) {
    super(detail);
  }
}

type Body = Readonly<Record<string, unknown>>;

function wholeNumber(body: Body, name: string, low: number, high: number): number | null {
  const value = body[name];
  if (value === undefined || value === null) return null;
  if (typeof value !== "number" || !Number.isInteger(value) || value < low || value > high) {
    throw new Invalid(name, `${name} must be a whole number from ${String(low)} to ${String(high)}`);
  }
  return value;
}

function flag(body: Body, name: string): boolean {
  const value = body[name];
  if (value === undefined || value === null) return false;
  if (typeof value !== "boolean") throw new Invalid(name, `${name} must be true or false`);
  return value;
}

function modelName(body: Body): string {
  const { model } = body;
  if (typeof model !== "string" || model === "" || model.length > MAX_MODEL_NAME) {
    throw new Invalid("model", "model must be the name of a model");
  }
  return model;
}

function textBytes(value: unknown): number {
  if (typeof value === "string") return utf8Length(value);
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + textBytes(item), 0);
  if (typeof value === "object" && value !== null) {
    return Object.entries(value).reduce((sum, [name, item]) => (name === "role" ? sum : sum + textBytes(item)), 0);
  }
  return 0;
}

/** Bytes of a text in UTF-8 without encoding it. */
export function utf8Length(text: string): number {
  let bytes = text.length;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code > 0x7f) bytes += code > 0x7ff ? 2 : 1;
    // Each half of a surrogate pair counted 3; the pair is 4.
    if (code >= 0xd800 && code <= 0xdbff) bytes -= 2;
  }
  return bytes;
}

function mediaParts(messages: readonly unknown[]): number {
  let parts = 0;
  for (const message of messages) {
    const content =
      typeof message === "object" && message !== null && "content" in message ? message.content : undefined;
    if (!Array.isArray(content)) continue;
    for (const part of content as unknown[]) {
      const type = typeof part === "object" && part !== null && "type" in part ? part.type : undefined;
      if (type !== "text" && type !== "refusal") parts += 1;
    }
  }
  return parts;
}

function streamOptions(body: Body): boolean {
  const options = body.stream_options;
  if (options === undefined || options === null) return false;
  if (typeof options !== "object" || Array.isArray(options))
    throw new Invalid("stream_options", "stream_options must be an object");
  return flag(options as Body, "include_usage");
}

function endUserOf(body: Body): string | null {
  const { user } = body;
  if (user === undefined || user === null) return null;
  if (typeof user !== "string") throw new Invalid("user", "user must be a text");
  return user.slice(0, 256);
}

type Shape = Omit<ParsedRequest, "text" | "scan" | "bodyBytes">;

function chatShape(body: Body, bodyBytes: number): Shape {
  const { messages } = body;
  if (!Array.isArray(messages) || messages.length === 0)
    throw new Invalid("messages", "messages must be a list with at least one message");
  if (messages.some((message) => typeof message !== "object" || message === null || Array.isArray(message))) {
    throw new Invalid("messages", "every message must be an object");
  }
  const newer = wholeNumber(body, "max_completion_tokens", 1, MAX_OUTPUT);
  const older = wholeNumber(body, "max_tokens", 1, MAX_OUTPUT);
  const framing = messages.length * FRAMING_TOKENS_PER_MESSAGE + FRAMING_TOKENS;
  return {
    model: modelName(body),
    kind: "chat",
    isStream: flag(body, "stream"),
    wantsUsage: streamOptions(body),
    // Where both are said a server may obey either: hold for the larger.
    outputCap: newer === null && older === null ? null : Math.max(newer ?? 0, older ?? 0),
    choices: wholeNumber(body, "n", 1, MAX_CHOICES) ?? 1,
    // Byte-level BPE never gives more tokens than bytes, and JSON never fewer bytes than its text.
    inputBound: bodyBytes + framing + mediaParts(messages) * TOKENS_PER_MEDIA_PART,
    inputGuess: () => Math.ceil(textBytes(messages) / 4) + framing,
    extraOutput: body.prediction === undefined || body.prediction === null ? 0 : textBytes(body.prediction),
    endUser: endUserOf(body),
  };
}

function embeddingShape(body: Body, bodyBytes: number): Shape {
  const { input } = body;
  const isText = typeof input === "string" && input !== "";
  const isList =
    Array.isArray(input) &&
    input.length > 0 &&
    (input.every((item) => typeof item === "string") ||
      input.every((item) => Number.isInteger(item) && Number(item) >= 0) ||
      input.every((item) => Array.isArray(item) && item.every((id) => Number.isInteger(id) && Number(id) >= 0)));
  if (!isText && !isList) throw new Invalid("input", "input must be a text, a list of texts or lists of token ids");
  return {
    model: modelName(body),
    kind: "embedding",
    isStream: false,
    wantsUsage: false,
    outputCap: 0,
    choices: 1,
    inputBound: bodyBytes,
    inputGuess: () => {
      const ids = Array.isArray(input) ? input.flat().filter((item) => typeof item === "number").length : 0;
      return ids > 0 ? ids : Math.ceil(textBytes(input) / 4);
    },
    extraOutput: 0,
    endUser: endUserOf(body),
  };
}

/** Parses a body, or says in one sentence what is wrong with it. */
export function parseOpenAiRequest(bytes: Uint8Array, kind: "chat" | "embedding"): ParsedRequest | Denial {
  const invalid = (detail: string, param?: string) =>
    denial("invalid_request", { detail, ...(param === undefined ? {} : { param }) });
  let text: string;
  let body: unknown;
  try {
    text = utf8.decode(bytes);
    body = JSON.parse(text);
  } catch {
    return invalid("the body is not valid JSON in UTF-8");
  }
  if (typeof body !== "object" || body === null || Array.isArray(body))
    return invalid("the body must be a JSON object");
  const scan = scanJson(text);
  if (scan.duplicate !== undefined) return invalid("a name occurs twice in one object", scan.duplicate.slice(0, 100));
  try {
    const shape = kind === "chat" ? chatShape(body as Body, bytes.length) : embeddingShape(body as Body, bytes.length);
    return { text, scan, bodyBytes: bytes.length, ...shape };
  } catch (error) {
    if (error instanceof Invalid) return invalid(error.detail, error.param);
    throw error;
  }
}
