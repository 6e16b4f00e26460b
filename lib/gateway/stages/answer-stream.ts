/**
 * A streamed answer: every event passed on as it came, tapped for usage. The usage chunk that only exists because the
 * gateway asked for it is left out. A client that hangs up is billed for what was produced (`cut`), or the rest is read
 * to learn the exact usage (`drain`).
 */
import type { Ending } from "../ending";
import type { Held } from "../exchange";
import type { GatewayAnswer } from "../http";
import type { AnswerHeaders, BudgetLedger, UpstreamResponse } from "../ports";
import { servedHeaders } from "../wire/response-headers";
import { streamErrorText } from "../wire/routes/error-shapes";
import type { Protocol } from "../wire/routes/route-request";
import { SseSplitter } from "../wire/sse";
import type { RawEvent } from "../wire/sse";
import type { Reading, StreamMeter } from "./meter";
import { isEncoded, streamMeter } from "./meter";
import { openOf } from "./settle";
import type { StreamWriter } from "./translation";
import { streamWriter } from "./translation";

const PROGRESS_EVERY_MS = 500;

export interface StreamDeps {
  readonly ledger: BudgetLedger;
  readonly clock: { nowMs(): number };
  readonly answerHeaders: AnswerHeaders;
}

const encoder = new TextEncoder();

class StreamAnswer {
  private readonly splitter = new SseSplitter();
  private readonly meter: StreamMeter;
  /** Into the client's shape, where the upstream speaks another. */
  private readonly writer: StreamWriter | undefined;
  private readonly iterator: AsyncIterator<Uint8Array>;
  private readonly firstByteMs: number;
  private reportedMs: number;
  private isClientGone = false;

  constructor(
    private readonly held: Held,
    private readonly upstream: UpstreamResponse,
    private readonly ending: Ending,
    private readonly protocol: Protocol,
    private readonly deps: StreamDeps,
  ) {
    this.meter = streamMeter(held);
    this.iterator = upstream.chunks()[Symbol.asyncIterator]();
    this.reportedMs = deps.clock.nowMs();
    this.firstByteMs = this.reportedMs - held.caller.startedMs;
    const { translation } = held.serving.target;
    const createdSeconds = Math.floor(this.reportedMs / 1000);
    this.writer = translation ? streamWriter(translation, createdSeconds, held.request.wantsUsage) : undefined;
  }

  private visible(events: readonly RawEvent[]): Uint8Array[] {
    const shown: Uint8Array[] = [];
    for (const event of events) {
      const isUsageChunk = this.meter.observe(event);
      if (this.writer) this.write(this.writer.push(event.data), shown);
      else if (!isUsageChunk || this.held.request.wantsUsage) shown.push(event.bytes);
    }
    return shown;
  }

  private write(text: string, shown: Uint8Array[]): void {
    if (text !== "") shown.push(encoder.encode(text));
  }

  private reportProgress(): void {
    const nowMs = this.deps.clock.nowMs();
    if (nowMs - this.reportedMs < PROGRESS_EVERY_MS) return;
    this.reportedMs = nowMs;
    this.deps.ledger.progress(openOf(this.held), this.meter.reading().usage);
  }

  /** Next bytes for the client; undefined at the end. Throws UpstreamFailure. */
  private async next(): Promise<Uint8Array[] | undefined> {
    for (;;) {
      const part = await this.iterator.next();
      if (part.done === true) {
        const rest = this.splitter.rest();
        const shown = rest ? this.visible([rest]) : [];
        if (this.writer) this.write(this.writer.end(), shown);
        return shown.length > 0 && !this.ending.isOver() ? this.finishAfter(shown) : this.finish();
      }
      const shown = this.visible(this.splitter.push(part.value));
      this.reportProgress();
      if (shown.length > 0) return shown;
    }
  }

  private finishAfter(shown: Uint8Array[]): Uint8Array[] {
    this.finish();
    return shown;
  }

  private finish(): undefined {
    const { usage, isEstimated } = this.meter.reading();
    const isWhole = this.meter.isDone || !isEstimated;
    if (this.meter.hasError && !this.meter.hasOutput && isEstimated) void this.ending.void();
    else if (this.isClientGone) this.settle(usage, isEstimated, "aborted");
    else this.settle(usage, isEstimated, isWhole && !this.meter.hasError ? "ok" : "upstream_error");
    return undefined;
  }

  private settle(usage: Reading["usage"], isEstimated: boolean, outcome: "ok" | "aborted" | "upstream_error"): void {
    const { status, headers } = this.upstream;
    const isGuess = isEstimated || isEncoded(headers);
    void this.ending.settle({
      usage,
      isEstimated: isGuess,
      outcome,
      statusCode: status,
      firstByteMs: this.firstByteMs,
    });
  }

  async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    try {
      const shown = this.ending.isOver() ? undefined : await this.next();
      // Hung up meanwhile: what came is counted, and whoever drains the rest must not be disturbed.
      if (this.isClientGone) return;
      if (shown) for (const bytes of shown) controller.enqueue(bytes);
      if (!shown || this.ending.isOver()) controller.close();
    } catch {
      this.breakOff(controller);
    }
  }

  /** The upstream broke in the middle: the client hears of it in the stream's own way, what passed is billed. */
  private breakOff(controller: ReadableStreamDefaultController<Uint8Array>): void {
    if (this.ending.isOver()) return;
    const { usage, isEstimated } = this.meter.reading();
    this.settle(usage, isEstimated, "upstream_error");
    this.upstream.destroy();
    if (this.isClientGone) return;
    controller.enqueue(encoder.encode(this.trouble()));
    controller.close();
  }

  private trouble(): string {
    const shape = this.held.request.kind === "responses" ? "responses" : this.protocol;
    const { requestId } = this.held.caller;
    const trouble = { code: "upstream_error", message: "The model provider broke off the stream.", requestId };
    return streamErrorText(shape, trouble, this.meter.nextSequence);
  }

  /** The client is gone. */
  async hangUp(): Promise<void> {
    this.isClientGone = true;
    if (this.ending.isOver()) return;
    if (this.held.caller.chain.policy.clientGone === "drain") {
      await this.drain();
      return;
    }
    const { usage, isEstimated } = this.meter.reading();
    this.settle(usage, isEstimated, "aborted");
    this.upstream.destroy();
  }

  private async drain(): Promise<void> {
    try {
      for (let part = await this.iterator.next(); part.done !== true; part = await this.iterator.next()) {
        this.visible(this.splitter.push(part.value));
        this.reportProgress();
      }
    } catch {
      // What passed before the break is what can be billed.
    }
    const { usage, isEstimated } = this.meter.reading();
    this.settle(usage, isEstimated, "aborted");
  }
}

export function answerStream(
  held: Held,
  upstream: UpstreamResponse,
  ending: Ending,
  protocol: Protocol,
  deps: StreamDeps,
): GatewayAnswer {
  const answer = new StreamAnswer(held, upstream, ending, protocol, deps);
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => answer.pull(controller),
    // Not awaited: the host must be free to close the connection while the rest is drained.
    cancel: () => void answer.hangUp(),
  });
  const headers = servedHeaders(held, deps.clock.nowMs());
  Object.assign(headers, deps.answerHeaders(upstream.headers));
  headers["content-type"] ??= "text/event-stream; charset=utf-8";
  headers["cache-control"] = "no-cache, no-transform";
  headers["x-accel-buffering"] = "no";
  return { status: upstream.status, body, headers };
}
