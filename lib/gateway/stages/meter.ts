/** What a call used: from the body, from the tail of a stream, or counted from what passed where the upstream does not say. */
import type { TokenUsage } from "@/lib/domain/usage-event";
import { readUsage } from "@/lib/domain/usage-reader";
import type { Held } from "../exchange";
import type { UpstreamResponse } from "../ports";
import { NO_USAGE, readOpenAiUsage } from "../wire/openai-usage";
import { readAnswer } from "../wire/routes/answer-reading";
import { streamObserver } from "../wire/routes/observers";
import type { RouteKind } from "../wire/routes/route-request";
import type { EarlyEnd, StreamObserver } from "../wire/routes/stream-observer";
import type { RawEvent } from "../wire/sse";
import { utf8Length } from "../wire/utf8-length";
import type { Reading } from "./plausible-usage";
import { plausible, TEXT_KINDS } from "./plausible-usage";
import { heldUnits, usageHints } from "./units";
import { hasVagueImages } from "./vague-images";

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

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(textOf(bytes));
  } catch {
    return undefined;
  }
}

/** The shape of what the upstream answers: that of the route, unless the body was translated. */
export function answeredKind(held: Held): RouteKind {
  return held.serving.target.translation?.kind ?? held.request.kind;
}

/** Made without saying what it took: what was held is the best that is known. */
const SILENT_KINDS: ReadonlySet<RouteKind> = new Set(["image", "speech", "transcription"]);

/** Of an answer without usage: what was asked, and what came. */
function countedAnswer(held: Held, bytes: Uint8Array): Reading {
  const { request } = held;
  const byText = TEXT_KINDS.has(request.kind) ? Math.ceil(readAnswer(bytes).outputBytes / BYTES_PER_TOKEN) : 0;
  const outputTokens = SILENT_KINDS.has(request.kind) && !held.serving.isPlainPrice ? held.heldOutputTokens : byText;
  const usage = { ...NO_USAGE, inputTokens: request.inputGuess(), outputTokens, ...heldUnits(request) };
  return { usage, isEstimated: true };
}

/** Calls that are billed by nothing in their answer: a fee, or what the request names. */
function isFlat(held: Held): boolean {
  const { kind } = held.request;
  return kind === "passthrough" || kind === "count_tokens" || kind === "gemini_count";
}

function readWhole(held: Held, body: unknown): Reading | undefined {
  const { target } = held.serving;
  const hints = usageHints(held.request, target.adapter.vendor, target.region);
  // A Gemini stream without `alt=sse` is one list: its last part says all.
  const last: unknown = Array.isArray(body) ? body.at(-1) : body;
  const reading = readUsage(isObject(last) ? last : {}, hints);
  if (!reading) return undefined;
  // Units of the request alone say what was asked; tokens, sound and search units only the server knows.
  const { kind } = held.request;
  const isSilent = Object.keys(reading.raw).length === 0;
  if (isSilent && !isSaidByRequest(held)) return undefined;
  const isUnsaid = isSilent && (kind === "transcription" || kind === "rerank");
  const isBound = isUnsaid || hasVagueImages(reading.usage, held.serving.price.rates);
  return { usage: reading.usage, isEstimated: isBound || reading.flags.length > 0 };
}

/** Whether what was asked for is what is billed, so that an answer need not say. */
function isSaidByRequest({ request, serving }: Held): boolean {
  return !TEXT_KINDS.has(request.kind) && serving.price.rates.outputPerToken === undefined;
}

/** Usage of a whole answer. */
export function readBody(held: Held, bytes: Uint8Array): Reading {
  return plausible(held, readStated(held, bytes), () => Math.ceil(readAnswer(bytes).outputBytes / BYTES_PER_TOKEN));
}

function readStated(held: Held, bytes: Uint8Array): Reading {
  const { request, serving } = held;
  if (isFlat(held)) return { usage: NO_USAGE, isEstimated: false };
  const body = parsed(bytes);
  if (serving.isPlainPrice && (request.kind === "chat" || request.kind === "embedding") && isObject(body)) {
    const usage = readOpenAiUsage(body.usage);
    if (usage) return { usage, isEstimated: false };
  }
  return readWhole(held, body) ?? countedAnswer(held, bytes);
}

function contentOf(choice: unknown): string {
  const part = isObject(choice) ? choice.delta : undefined;
  if (!isObject(part)) return "";
  let text = "";
  for (const name of ["content", "reasoning_content", "refusal"]) {
    const value = part[name];
    if (typeof value === "string") text += value;
  }
  if (part.tool_calls !== undefined) text += JSON.stringify(part.tool_calls);
  return text;
}

/** Counts one stream. Usage that comes more than once is cumulative: the last one replaces the others. */
export interface StreamMeter {
  readonly hasError: boolean;
  readonly isDone: boolean;
  /** Whether anything was produced that a provider would bill. */
  readonly hasOutput: boolean;
  /** Takes note of an event; true when it is the usage chunk that only exists because usage was asked for. */
  observe(event: RawEvent): boolean;
  /** Usage as stated, or what was counted so far. */
  reading(): Reading;
  /** Number of the next event, in streams whose events are numbered. */
  readonly nextSequence?: number;
  endEarly?(end: EarlyEnd): string;
}

/** A usage, that of a choice too, or an error: never a piece of the text, within which quotes are escaped. */
const STATES_MORE = /"(?:usage|error)"\s*:\s*\{/u;

/** Chat streams at plain prices: the quick reading. */
class ChatMeter implements StreamMeter {
  isDone = false;
  private isError = false;
  private usage: TokenUsage | undefined;
  private isFlagged = false;
  private contentChunks = 0;
  private contentBytes = 0;
  /** Events of nothing but content. They are read when somebody asks, so that no event waits for it. */
  private readonly unread: RawEvent[] = [];

  constructor(private readonly held: Held) {}

  observe(event: RawEvent): boolean {
    const { data } = event;
    if (data === "[DONE]") this.isDone = true;
    else if (STATES_MORE.test(data)) return this.read(event);
    else if (data !== "") this.unread.push(event);
    return false;
  }

  private read({ data }: RawEvent): boolean {
    let chunk: unknown;
    try {
      chunk = JSON.parse(data);
    } catch {
      return false;
    }
    if (!isObject(chunk)) return false;
    if (isObject(chunk.error)) this.isError = true;
    const choices = Array.isArray(chunk.choices) ? (chunk.choices as unknown[]) : [];
    for (const choice of choices) {
      const text = contentOf(choice);
      if (text === "") continue;
      this.contentChunks += 1;
      this.contentBytes += utf8Length(text);
    }
    const last = choices[choices.length - 1];
    if (isObject(chunk.usage) || isObject(chunk.x_groq) || (isObject(last) && isObject(last.usage))) this.state(chunk);
    return choices.length === 0 && isObject(chunk.usage);
  }

  private readRest(): void {
    for (const event of this.unread) this.read(event);
    this.unread.length = 0;
  }

  private state(chunk: Record<string, unknown>): void {
    const quick = readOpenAiUsage(chunk.usage);
    const reading = quick ? { usage: quick, isEstimated: false } : readWhole(this.held, chunk);
    if (!reading) return;
    this.usage = reading.usage;
    this.isFlagged = reading.isEstimated;
  }

  get hasError(): boolean {
    return this.isError;
  }

  get hasOutput(): boolean {
    this.readRest();
    return this.contentChunks > 0;
  }

  reading(): Reading {
    this.readRest();
    const outputTokens = Math.max(this.contentChunks, Math.ceil(this.contentBytes / BYTES_PER_TOKEN));
    const { usage, isFlagged } = this;
    if (usage) return plausible(this.held, { usage, isEstimated: isFlagged }, () => outputTokens);
    return { usage: { ...NO_USAGE, inputTokens: this.held.request.inputGuess(), outputTokens }, isEstimated: true };
  }
}

/** A stream whose text is counted as it comes, so that its hold can follow it, and that can be ended early. */
export interface CountingMeter extends StreamMeter {
  readonly outputBytes: number;
  endEarly(end: EarlyEnd): string;
}

/** Every other stream: its route's observer gathers, the one reader of usage reads. */
class ObservedMeter implements CountingMeter {
  constructor(
    private readonly held: Held,
    private readonly observer: StreamObserver,
  ) {}

  get hasError(): boolean {
    return this.observer.hasError;
  }

  get isDone(): boolean {
    return this.observer.isDone;
  }

  get hasOutput(): boolean {
    return this.observer.hasOutput;
  }

  get nextSequence(): number {
    return this.observer.nextSequence ?? 0;
  }

  get outputBytes(): number {
    return this.observer.outputBytes;
  }

  observe(event: RawEvent): boolean {
    return this.observer.observe(event);
  }

  endEarly(end: EarlyEnd): string {
    return this.observer.endEarly(end);
  }

  reading(): Reading {
    const { usage, answer } = this.observer;
    // Anthropic says the input at the beginning and the output at the end: until then the output is what passed.
    const stated = usage === undefined ? undefined : readWhole(this.held, { ...answer, usage });
    const isFinal = this.observer.isDone || this.observer.isUsageFinal === true;
    return stated && isFinal ? plausible(this.held, stated, () => this.made()) : this.counted(stated?.usage);
  }

  private made(): number {
    const { outputPieces, outputBytes } = this.observer;
    const isText = TEXT_KINDS.has(this.held.request.kind);
    return isText ? Math.max(outputPieces, Math.ceil(outputBytes / BYTES_PER_TOKEN)) : 0;
  }

  private counted(stated: TokenUsage | undefined): Reading {
    const made = this.made();
    const base = stated ?? {
      ...NO_USAGE,
      inputTokens: this.held.request.inputGuess(),
      ...heldUnits(this.held.request),
    };
    return { usage: { ...base, outputTokens: Math.max(base.outputTokens, made) }, isEstimated: true };
  }
}

export function countingMeter(held: Held): CountingMeter {
  const kind = answeredKind(held);
  const observer = streamObserver(kind);
  if (!observer) throw new Error(`streams of ${kind} are not counted as they come`);
  return new ObservedMeter(held, observer);
}

export function streamMeter(held: Held): StreamMeter {
  const kind = answeredKind(held);
  if (kind === "chat" && held.serving.isPlainPrice) return new ChatMeter(held);
  const observer = streamObserver(kind);
  return observer ? new ObservedMeter(held, observer) : new ChatMeter(held);
}
