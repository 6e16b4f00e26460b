/** What a whole answer says of its usage, in any route's shape. */
import { utf8Length } from "../utf8-length";
import { isBody } from "./fields";
import type { RawUsage } from "./stated-usage";
import { statedUsage } from "./stated-usage";

export interface AnswerReading {
  /** Raw; undefined where the server did not say. */
  readonly usage: RawUsage | undefined;
  /** UTF-8 bytes of generated text, for a count where usage is missing. */
  readonly outputBytes: number;
  /** An error object and nothing else. */
  readonly isError: boolean;
}

const CONTAINERS = ["choices", "output", "content", "candidates", "message", "parts", "tool_calls", "function"];
const TEXTS = ["text", "content", "reasoning_content", "refusal", "arguments", "thinking", "output_text"];

function outputBytes(value: unknown, depth = 0): number {
  if (depth > 8) return 0;
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + outputBytes(item, depth + 1), 0);
  if (!isBody(value)) return 0;
  let bytes = 0;
  for (const name of TEXTS) if (typeof value[name] === "string") bytes += utf8Length(value[name]);
  for (const name of CONTAINERS) bytes += outputBytes(value[name], depth + 1);
  // Arguments of tool calls that are objects and not text.
  if (isBody(value.input)) bytes += utf8Length(JSON.stringify(value.input));
  return bytes;
}

/** A Gemini stream without `alt=sse` is one list: its last usage counts. */
function lastUsage(body: unknown): RawUsage | undefined {
  if (!Array.isArray(body)) return statedUsage(body);
  return body.map(statedUsage).reduce<RawUsage | undefined>((before, usage) => usage ?? before, undefined);
}

/** Reads a whole answer; what is not JSON (audio, srt) has no usage and counts by its bytes. */
export function readAnswer(bytes: Uint8Array): AnswerReading {
  let body: unknown;
  try {
    body = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return { usage: undefined, outputBytes: bytes.length, isError: false };
  }
  const output = outputBytes(body);
  const isError = isBody(body) && (isBody(body.error) || body.type === "error") && output === 0;
  return { usage: lastUsage(body), outputBytes: output, isError };
}
