/**
 * Token counts and texts of the sandbox. It has no tokenizer: prompts are counted by bytes and answers are made of
 * pieces "w0", " w1", " w2", ..., one piece a token, so that a meter that counts visible pieces can be checked.
 */
import { Buffer } from "node:buffer";

const BYTES_PER_TOKEN = 4;
const TOKENS_PER_MESSAGE = 3;
const TOKENS_PER_REPLY = 3;

/**
 * Prompt tokens of a chat request: a quarter of the UTF-8 bytes of message contents, tool calls and tool schemas,
 * rounded up, plus 3 a message and 3 for the reply. Never above those bytes plus 4 a message plus 3, the upper bound
 * that a byte-level tokenizer keeps.
 */
export function countPromptTokens(messages: readonly unknown[], body: Readonly<Record<string, unknown>>): number {
  let bytes = 0;
  for (const message of messages) bytes += messageBytes(message);
  for (const schema of [body.tools, body.functions, body.response_format]) {
    if (schema !== undefined && schema !== null) bytes += Buffer.byteLength(JSON.stringify(schema));
  }
  return Math.ceil(bytes / BYTES_PER_TOKEN) + TOKENS_PER_MESSAGE * messages.length + TOKENS_PER_REPLY;
}

/** Tokens of one embedding input: a quarter of its bytes, rounded up, or the number of token ids. */
export function countInputTokens(input: string | readonly number[]): number {
  return typeof input === "string" ? Math.ceil(Buffer.byteLength(input) / BYTES_PER_TOKEN) : input.length;
}

function messageBytes(message: unknown): number {
  if (typeof message !== "object" || message === null) return 0;
  let bytes = 0;
  if ("content" in message) {
    if (typeof message.content === "string") bytes += Buffer.byteLength(message.content);
    else if (Array.isArray(message.content)) for (const part of message.content) bytes += partBytes(part);
  }
  if ("tool_calls" in message && Array.isArray(message.tool_calls)) {
    bytes += Buffer.byteLength(JSON.stringify(message.tool_calls));
  }
  return bytes;
}

/** A text part counts as its text, any other part as its JSON. */
function partBytes(part: unknown): number {
  if (typeof part === "object" && part !== null && "text" in part && typeof part.text === "string") {
    return Buffer.byteLength(part.text);
  }
  return Buffer.byteLength(JSON.stringify(part) ?? "");
}

/** The text of tokens `from` (inclusive) to `to` (exclusive). Needs no escaping in JSON. */
export type TextOfTokens = (from: number, to: number) => string;

/** One long answer and where each of its tokens ends; grown by doubling, at most to the limit of the control. */
function textOf(word: string): TextOfTokens {
  let answer = "";
  let ends: number[] = [0];
  const grow = (tokens: number): void => {
    const pieces: string[] = [];
    const lengths = [0];
    let length = 0;
    for (let index = 0; index < tokens; index += 1) {
      const piece = `${index === 0 ? "" : " "}${word}${index}`;
      length += piece.length;
      pieces.push(piece);
      lengths.push(length);
    }
    answer = pieces.join("");
    ends = lengths;
  };
  return (from, to) => {
    if (to >= ends.length) grow(Math.max(1024, to * 2));
    return answer.slice(ends[from] ?? 0, ends[to] ?? 0);
  };
}

export const answerText = textOf("w");

/** The same in characters of three and four bytes: 水🌊0 水🌊1 ... */
export const multibyteText = textOf("水🌊");

/**
 * Tokens `from` to `to` of a tool's arguments, which are `{"text":"w0 w1 …"}` in all: joined in order they are JSON.
 */
export function toolArguments(text: TextOfTokens, from: number, to: number, total: number): string {
  return `${from === 0 ? '{"text":"' : ""}${text(from, to)}${to === total ? '"}' : ""}`;
}

/** An answer in JSON of so many tokens, as structured output asks for it: `{"text":"w0 w1 …"}`. */
export function jsonText(text: TextOfTokens, total: number): TextOfTokens {
  return (from, to) => toolArguments(text, from, to, total);
}

/** The same for answers that are put into JSON as they are. */
export function escaped(text: TextOfTokens): TextOfTokens {
  return (from, to) => JSON.stringify(text(from, to)).slice(1, -1);
}
