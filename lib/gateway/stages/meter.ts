/** What a call used: from the body, from the tail of a stream, or counted from what passed where the upstream does not say. */
import type { TokenUsage } from "@/lib/domain/usage-event";
import type { UpstreamResponse } from "../ports";
import { utf8Length } from "../wire/openai-request";
import { NO_USAGE, readOpenAiUsage } from "../wire/openai-usage";
import type { RawEvent } from "../wire/sse";

/** About four bytes a token is what byte-pair encodings reach on prose; a stream's chunk is at least one token. */
const BYTES_PER_TOKEN = 4;
/** One for all bodies: making a decoder costs more than using it. The strict one is the quicker. */
const strictUtf8 = new TextDecoder("utf-8", { fatal: true });
const lenientUtf8 = new TextDecoder();

function textOf(bytes: Uint8Array): string {
  try {
    return strictUtf8.decode(bytes);
  } catch {
    return lenientUtf8.decode(bytes);
  }
}

/**
 * Whether an answer announces an encoding. The gateway never asks for one, so such an answer contradicts itself: its usage
 * is taken as an estimate, and the bill says whether the provider counts it as served.
 */
export function isEncoded(headers: UpstreamResponse["headers"]): boolean {
  const encoding = headers["content-encoding"];
  return encoding !== undefined && encoding !== "identity";
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function contentOf(choice: unknown, container: "delta" | "message"): string {
  const part = isObject(choice) ? choice[container] : undefined;
  if (!isObject(part)) return "";
  let text = "";
  for (const name of ["content", "reasoning_content", "refusal"]) {
    const value = part[name];
    if (typeof value === "string") text += value;
  }
  if (part.tool_calls !== undefined) text += JSON.stringify(part.tool_calls);
  return text;
}

export interface BodyReading {
  readonly usage: TokenUsage | undefined;
  /** Output tokens guessed from the text, for a body without usage. */
  readonly outputGuess: number;
  readonly isError: boolean;
}

/** Reads a whole JSON answer. A body that is not JSON, or is cut, has no usage. */
export function readBody(bytes: Uint8Array): BodyReading {
  let body: unknown;
  try {
    body = JSON.parse(textOf(bytes));
  } catch {
    return { usage: undefined, outputGuess: Math.ceil(bytes.length / BYTES_PER_TOKEN), isError: false };
  }
  if (!isObject(body)) return { usage: undefined, outputGuess: 0, isError: false };
  const usage = readOpenAiUsage(body.usage);
  if (usage) return { usage, outputGuess: 0, isError: false };
  const choices = Array.isArray(body.choices) ? (body.choices as unknown[]) : [];
  const text = choices.map((choice) => contentOf(choice, "message")).join("");
  return {
    usage: undefined,
    outputGuess: Math.ceil(utf8Length(text) / BYTES_PER_TOKEN),
    isError: isObject(body.error) && choices.length === 0,
  };
}

/** Counts one stream. Usage that comes more than once is cumulative: the last one replaces the others. */
export class StreamMeter {
  usage: TokenUsage | undefined;
  hasError = false;
  isDone = false;
  private contentChunks = 0;
  private contentBytes = 0;

  constructor(private readonly inputGuess: () => number) {}

  /** Takes note of an event; true when it is the usage chunk that only exists because usage was asked for. */
  observe(event: RawEvent): boolean {
    if (event.data === "") return false;
    if (event.data === "[DONE]") {
      this.isDone = true;
      return false;
    }
    let chunk: unknown;
    try {
      chunk = JSON.parse(event.data);
    } catch {
      return false;
    }
    if (!isObject(chunk)) return false;
    if (isObject(chunk.error)) this.hasError = true;
    const usage = readOpenAiUsage(chunk.usage);
    if (usage) this.usage = usage;
    const choices = Array.isArray(chunk.choices) ? (chunk.choices as unknown[]) : [];
    for (const choice of choices) {
      const text = contentOf(choice, "delta");
      if (text === "") continue;
      this.contentChunks += 1;
      this.contentBytes += utf8Length(text);
    }
    return choices.length === 0 && isObject(chunk.usage);
  }

  /** Whether anything was produced that a provider would bill. */
  get hasOutput(): boolean {
    return this.contentChunks > 0;
  }

  /** Usage as stated, or what was counted so far. */
  reading(): { usage: TokenUsage; isEstimated: boolean } {
    if (this.usage) return { usage: this.usage, isEstimated: false };
    return { usage: this.counted(), isEstimated: true };
  }

  private counted(): TokenUsage {
    const outputTokens = Math.max(this.contentChunks, Math.ceil(this.contentBytes / BYTES_PER_TOKEN));
    return { ...NO_USAGE, inputTokens: this.inputGuess(), outputTokens };
  }
}
