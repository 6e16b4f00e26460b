/**
 * Streams an answer piece by piece, with the faults that its control asks for.
 *
 * A client that leaves pays for the prompt, the hidden reasoning and the tokens written so far. Without
 * `chunkDelayMs` a short answer is written in one piece, so nothing of it can be cut any more.
 */
import { Buffer } from "node:buffer";
import { failInstead } from "./answer";
import { askedFailure, errorBody } from "./errors";
import { afterDelay, afterLatency, book, cutShort, type Exchange, type Metered, providerHeaders } from "./exchange";

export interface Chunk {
  readonly text: string;
  /** Visible tokens in it; 0 for what frames the answer. */
  readonly tokens: number;
}

export interface StreamedAnswer {
  readonly chunks: Iterator<Chunk, undefined>;
  /** What follows the last chunk. */
  readonly end: string;
  /** Frames an error that comes in the middle of a 200. */
  readonly errorEvent: (body: string) => string;
  /** Completion tokens that are produced before the first visible one. */
  readonly hiddenTokens: number;
  /** Server-sent events unless it says otherwise. */
  readonly contentType?: string;
  /** Called once when the answer ends, with its completion tokens so far. */
  readonly onEnd?: (producedTokens: number, aborted: boolean) => void;
}

/** Written at once; beyond it the socket's back-pressure sets the pace. */
const BATCH_CHARACTERS = 32_768;
const DEFAULT_CUT_AFTER_CHUNKS = 1;
const CUTTING_FAULTS: ReadonlySet<unknown> = new Set(["cut_stream", "half_json", "error_in_stream"]);
const EVENT_STREAM = "text/event-stream; charset=utf-8";

/** An error as one more `data:` event, as most vendors send it. */
export const dataEvent = (body: string): string => `data: ${body}\n\n`;

export function streamAnswer(exchange: Exchange, metered: Metered, answer: StreamedAnswer): void {
  afterLatency(
    exchange,
    () => {
      if (!failInstead(exchange, metered)) new AnswerStream(exchange, metered, answer).start();
    },
    () => book(exchange, cutShort(metered, 0), true),
  );
}

class AnswerStream {
  private readonly cutAfterChunks: number;
  /** A cut at a byte is billed by the chunk, so chunks are then written one by one. */
  private readonly batchCharacters: number;
  private readonly countsBytes: boolean;
  private producedTokens: number;
  private contentChunks = 0;
  private events = 0;
  private sentBytes = 0;
  private timer: NodeJS.Timeout | undefined;
  private isBooked = false;

  constructor(
    private readonly exchange: Exchange,
    private readonly metered: Metered,
    private readonly answer: StreamedAnswer,
  ) {
    const { control } = exchange;
    this.producedTokens = answer.hiddenTokens;
    this.countsBytes = control.cutAfterBytes !== undefined || control.splitAt !== undefined;
    this.batchCharacters = control.cutAfterBytes === undefined ? BATCH_CHARACTERS : 1;
    this.cutAfterChunks = CUTTING_FAULTS.has(control.fault)
      ? (control.cutAfterChunks ?? DEFAULT_CUT_AFTER_CHUNKS)
      : Infinity;
  }

  start(): void {
    const { reply, control } = this.exchange;
    const encoding = control.fault === "wrong_gzip" ? "content-encoding: gzip\r\n" : "";
    const type = `content-type: ${this.answer.contentType ?? EVENT_STREAM}\r\ncache-control: no-cache\r\n`;
    reply.start(type + providerHeaders(this.exchange) + encoding);
    if (control.bodyDelayMs === undefined) {
      this.begin();
      return;
    }
    reply.writeHead();
    afterDelay(
      reply,
      control.bodyDelayMs,
      () => this.begin(),
      () => this.bookProduced(true),
    );
  }

  private begin(): void {
    const { reply, control } = this.exchange;
    reply.whenGone(() => {
      clearTimeout(this.timer);
      this.bookProduced(true);
    });
    if (control.keepAlives !== undefined || control.padBytes !== undefined) this.write(this.preamble());
    if (!reply.isOver) this.pump();
  }

  /** Comments that precede the answer: a queue that keeps the client waiting, or a lot of nothing. */
  private preamble(): string {
    const { keepAlives = 0, padBytes } = this.exchange.control;
    const padding = padBytes === undefined ? "" : `: ${"x".repeat(padBytes)}\n\n`;
    return ": keep-alive\n\n".repeat(keepAlives) + padding;
  }

  /** Writes until the stream ends, the socket is full, or a controlled delay is due. */
  private readonly pump = (): void => {
    const { reply, control } = this.exchange;
    const delayMs = control.chunkDelayMs ?? 0;
    let batch = "";
    for (;;) {
      if (this.contentChunks >= this.cutAfterChunks) {
        this.cut(batch);
        return;
      }
      const next = this.answer.chunks.next();
      if (next.done === true) {
        this.finish(batch);
        return;
      }
      batch += control.commentEvery === undefined ? next.value.text : this.withComment(next.value.text);
      if (next.value.tokens > 0) {
        this.contentChunks += 1;
        if (delayMs > 0) {
          this.write(batch);
          if (reply.isOver) return;
          this.producedTokens += next.value.tokens;
          this.timer = setTimeout(this.pump, delayMs);
          return;
        }
      }
      if (batch.length >= this.batchCharacters) {
        const hasRoom = this.write(batch);
        if (reply.isOver) return;
        this.producedTokens += next.value.tokens;
        batch = "";
        if (!hasRoom) {
          reply.onceDrain(this.pump);
          return;
        }
      } else {
        this.producedTokens += next.value.tokens;
      }
    }
  };

  private withComment(text: string): string {
    this.events += 1;
    return this.events % (this.exchange.control.commentEvery ?? 1) === 0 ? `${text}: ping\n\n` : text;
  }

  /** False when the socket is full, or the answer has been cut. */
  private write(text: string): boolean {
    if (text === "") return true;
    const { reply, control } = this.exchange;
    if (!this.countsBytes) return reply.write(this.framed(text));
    const bytes = Buffer.from(this.framed(text));
    const room = (control.cutAfterBytes ?? Infinity) - this.sentBytes;
    this.sentBytes += bytes.length;
    let hasRoom = true;
    if (control.splitAt === undefined) hasRoom = reply.writeBytes(bytes.subarray(0, room));
    else reply.writePaced(bytes.subarray(0, room), control.splitAt);
    if (bytes.length < room) return hasRoom;
    this.bookProduced(true);
    reply.cutNow();
    return false;
  }

  private framed(text: string): string {
    return this.exchange.control.crlf === true ? text.replaceAll("\n", "\r\n") : text;
  }

  private finish(batch: string): void {
    const { reply, control } = this.exchange;
    let last = batch + this.answer.end;
    if (this.countsBytes) {
      this.write(last);
      if (reply.isOver) return;
      last = "";
    }
    this.bookProduced(control.fault === "wrong_gzip");
    reply.end(this.framed(last));
  }

  private cut(batch: string): void {
    const { reply, control, vendor, callId } = this.exchange;
    this.bookProduced(true);
    if (control.fault === "cut_stream") {
      reply.cut(this.framed(batch));
      return;
    }
    const text = this.answer.chunks.next().value?.text ?? "";
    const last =
      control.fault === "half_json"
        ? text.slice(0, Math.floor(text.length / 2))
        : this.answer.errorEvent(errorBody(vendor, askedFailure(control, vendor), callId));
    this.write(batch + last);
    if (!reply.isOver) reply.end("");
  }

  private bookProduced(aborted: boolean): void {
    if (this.isBooked) return;
    this.isBooked = true;
    book(this.exchange, cutShort(this.metered, this.producedTokens), aborted);
    this.answer.onEnd?.(this.producedTokens, aborted);
  }
}
