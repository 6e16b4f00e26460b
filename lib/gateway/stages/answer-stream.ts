/**
 * A streamed answer: every event passed on as it came, tapped for usage. The usage chunk that only exists because the
 * gateway asked for it is left out. A client that hangs up is billed for what was produced (`cut`), or the rest is read
 * to learn the exact usage (`drain`, and wherever something is made unseen).
 */
import type { Outcome, TokenUsage } from "@/lib/domain/usage-event";
import type { ByteSink, ByteStream } from "../byte-stream";
import type { Ending } from "../ending";
import type { Held } from "../exchange";
import type { GatewayAnswer } from "../http";
import { joined } from "../http";
import type { AnswerHeaders, UpstreamResponse } from "../ports";
import { UpstreamFailure } from "../ports";
import { refusalCode } from "../wire/error-response";
import { servedHeaders } from "../wire/response-headers";
import { streamErrorText } from "../wire/routes/error-shapes";
import type { Protocol } from "../wire/routes/route-request";
import { SseSplitter } from "../wire/sse";
import type { RawEvent } from "../wire/sse";
import { CoveredBytes } from "./covered-bytes";
import type { StreamMeter } from "./meter";
import { countingMeter, isEncoded, streamMeter } from "./meter";
import type { AskAgain, RaiseDeps } from "./raise-hold";
import { HoldRaiser } from "./raise-hold";
import type { Measured } from "./settle";
import { openOf } from "./settle";
import type { StreamWriter } from "./translation";
import { streamWriter } from "./translation";
import { speaksOfAccount } from "./upstream-error";
import { isCutShort, showsAllOutput } from "./visible-output";

const PROGRESS_EVERY_MS = 1_000;

const TROUBLE = {
  upstream_error: "The model provider broke off the stream.",
  upstream_timeout: "The model provider took too long, and the stream was ended.",
} as const;

export interface StreamDeps extends RaiseDeps {
  readonly answerHeaders: AnswerHeaders;
}

const encoder = new TextEncoder();

/** Stands in the middle: takes what the upstream writes, and is the body that the client reads. */
class StreamAnswer implements ByteSink, ByteStream {
  private readonly splitter = new SseSplitter();
  /** Counts what is passed on. */
  private readonly meter: StreamMeter;
  /** Counts what has come: that is what is booked. */
  private readonly received: StreamMeter;
  private readonly source: ByteStream;
  /** Into the client's shape, where the upstream speaks another. */
  private readonly writer: StreamWriter | undefined;
  private readonly firstByteMs: number;
  private reportedMs: number;
  private client: ByteSink | undefined;
  private isClientGone = false;

  constructor(
    private readonly held: Held,
    private readonly upstream: UpstreamResponse,
    private readonly ending: Ending,
    private readonly protocol: Protocol,
    askAgain: AskAgain,
    private readonly deps: StreamDeps,
  ) {
    const { slices } = held;
    if (slices) {
      const received = countingMeter(held);
      const raiser = new HoldRaiser(held, slices, () => received.reading().usage, askAgain, deps);
      this.source = new CoveredBytes(upstream.body, received, raiser, () => {
        this.shorten(refusalCode(raiser.refusal));
      });
      this.meter = countingMeter(held);
      this.received = received;
    } else {
      this.source = upstream.body;
      this.meter = streamMeter(held);
      this.received = this.meter;
    }
    this.reportedMs = deps.clock.nowMs();
    this.firstByteMs = this.reportedMs - held.caller.startedMs;
    const { translation } = held.serving.target;
    const createdSeconds = Math.floor(this.reportedMs / 1000);
    this.writer = translation ? streamWriter(translation, createdSeconds, held.request.wantsUsage) : undefined;
  }

  start(client: ByteSink): void {
    this.client = client;
    this.source.start(this);
  }

  resume(): void {
    this.source.resume();
  }

  /** The client is gone. */
  cancel(): void {
    this.isClientGone = true;
    if (this.ending.isOver()) return;
    if (isCutShort(this.held)) this.breakOff("aborted");
    else if (this.client) this.resume();
    else this.source.start(this);
  }

  write(piece: Uint8Array): boolean {
    if (this.ending.isOver()) return true;
    try {
      const hasRoom = this.pass(this.visible(this.splitter.push(piece)));
      this.reportProgress();
      return hasRoom;
    } catch {
      this.fail();
      return true;
    }
  }

  end(): void {
    if (this.ending.isOver()) return;
    try {
      const rest = this.splitter.rest();
      const shown = rest ? this.visible([rest]) : [];
      if (this.writer) this.show(this.writer.end(), shown);
      this.finish();
      this.pass(shown);
      this.close();
    } catch {
      this.fail();
    }
  }

  /** The upstream broke in the middle: the client hears of it in the stream's own way, what passed is billed. */
  fail(error?: unknown): void {
    if (this.ending.isOver()) return;
    const reason = error instanceof UpstreamFailure ? error.reason : undefined;
    this.breakOff(this.isClientGone || reason === "aborted" ? "aborted" : "upstream_error");
    this.pass([encoder.encode(this.trouble(reason === "timeout" ? "upstream_timeout" : "upstream_error"))]);
    this.close();
  }

  private visible(events: readonly RawEvent[]): Uint8Array[] {
    const shown: Uint8Array[] = [];
    for (const event of events) {
      const isUsageChunk = this.meter.observe(event);
      if (this.meter.hasError && speaksOfAccount(event.data)) this.show(this.trouble(), shown);
      else if (this.writer) this.show(this.writer.push(event.data), shown);
      else if (!isUsageChunk || this.held.request.wantsUsage) shown.push(event.bytes);
    }
    return shown;
  }

  private show(text: string, shown: Uint8Array[]): void {
    if (text !== "") shown.push(encoder.encode(text));
  }

  /** What came together goes on together. False where the client cannot take more. */
  private pass(shown: readonly Uint8Array[]): boolean {
    if (this.isClientGone || !this.client || shown.length === 0) return true;
    return this.client.write(
      joined(
        shown,
        shown.reduce((sum, { length }) => sum + length, 0),
      ),
    );
  }

  private close(): void {
    if (!this.isClientGone) this.client?.end();
  }

  private reportProgress(): void {
    const nowMs = this.deps.clock.nowMs();
    if (nowMs - this.reportedMs < PROGRESS_EVERY_MS) return;
    this.reportedMs = nowMs;
    // A count of what is seen would pass for all: who dies here leaves a call of which nobody knows what it used.
    if (!showsAllOutput(this.held.request, this.held.serving)) return;
    this.deps.ledger.progress(openOf(this.held), this.received.reading().usage);
  }

  private finish(): void {
    const { isEstimated } = this.meter.reading();
    const isWhole = (this.meter.isDone || !isEstimated) && !this.meter.hasError;
    if (this.meter.hasError && !this.meter.hasOutput && isEstimated) void this.ending.void();
    else if (this.isClientGone) this.settle("aborted");
    else this.settle(isWhole ? "ok" : "upstream_error");
  }

  private breakOff(outcome: "aborted" | "upstream_error"): void {
    this.settle(outcome);
    this.source.cancel();
  }

  private settle(outcome: "ok" | "aborted" | "upstream_error"): void {
    const { usage, isEstimated } = this.received.reading();
    void this.ending.settle(this.measured(outcome, usage, isEstimated || isEncoded(this.upstream.headers)));
  }

  private measured(outcome: Outcome, usage: TokenUsage, isEstimated: boolean): Measured {
    return { usage, isEstimated, outcome, statusCode: this.upstream.status, firstByteMs: this.firstByteMs };
  }

  /** Nothing more is held: what came is booked, and the stream ends as if its cap had been reached, with a note of why. */
  private shorten(code: string): void {
    if (this.ending.isOver()) return;
    const { usage } = this.received.reading();
    const { inputTokens, outputTokens } = usage;
    const isGone = this.isClientGone;
    void this.ending.settle({ ...this.measured(isGone ? "aborted" : "shortened", usage, true), shortenedBy: code });
    this.source.cancel();
    const wantsUsage = this.held.request.wantsUsage || this.writer !== undefined;
    const end = this.meter.endEarly?.({ inputTokens, outputTokens, wantsUsage, note: code }) ?? "";
    // Google's client takes nothing but data.
    const shown = this.protocol === "gemini" ? [] : [encoder.encode(`: spillway ${code}\n\n`)];
    if (this.writer) {
      for (const event of new SseSplitter().push(encoder.encode(end))) this.show(this.writer.push(event.data), shown);
      this.show(this.writer.end(), shown);
    } else this.show(end === "" ? this.trouble() : end, shown);
    this.pass(shown);
    this.close();
  }

  private trouble(code: keyof typeof TROUBLE = "upstream_error"): string {
    const shape = this.held.request.kind === "responses" ? "responses" : this.protocol;
    const { requestId } = this.held.caller;
    const trouble = { code, message: TROUBLE[code], requestId };
    return streamErrorText(shape, trouble, this.meter.nextSequence);
  }
}

export function answerStream(
  held: Held,
  upstream: UpstreamResponse,
  ending: Ending,
  protocol: Protocol,
  askAgain: AskAgain,
  deps: StreamDeps,
): GatewayAnswer {
  const body = new StreamAnswer(held, upstream, ending, protocol, askAgain, deps);
  const headers = servedHeaders(held, deps.clock.nowMs());
  Object.assign(headers, deps.answerHeaders(upstream.headers));
  headers["content-type"] ??= "text/event-stream; charset=utf-8";
  headers["cache-control"] = "no-cache, no-transform";
  headers["x-accel-buffering"] = "no";
  return { status: upstream.status, body, headers };
}
