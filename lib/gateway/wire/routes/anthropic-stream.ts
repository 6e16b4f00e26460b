/** Streams of Anthropic messages (API reference: streaming messages): usage is cumulative, there is no `[DONE]`. */
import type { RawEvent } from "../sse";
import { isBody } from "./fields";
import { typedEvent } from "./sse-text";
import { mergedUsage, statedUsage } from "./stated-usage";
import type { EarlyEnd, StreamObserver } from "./stream-observer";
import { eventJson, noteOf, numberOr, TextCounter } from "./stream-observer";

/** Thinking is billed at full length, of which the visible text can be a summary. */
const DELTA_TEXTS = ["text", "partial_json", "thinking"];

export class AnthropicStreamObserver extends TextCounter implements StreamObserver {
  isUsageFinal = false;
  private isStarted = false;
  private readonly openBlocks = new Set<number>();

  observe(event: RawEvent): boolean {
    const body = eventJson(event);
    if (!body) return false;
    switch (body.type) {
      case "message_start":
        this.isStarted = true;
        this.usage = mergedUsage(this.usage, statedUsage(body));
        break;
      case "content_block_start":
        this.openBlocks.add(numberOr(body.index, 0));
        // The name of a tool is made, too.
        if (isBody(body.content_block)) this.count(body.content_block.name);
        break;
      case "content_block_delta":
        if (isBody(body.delta)) for (const name of DELTA_TEXTS) this.count(body.delta[name]);
        break;
      case "content_block_stop":
        this.openBlocks.delete(numberOr(body.index, 0));
        break;
      case "message_delta":
        this.isUsageFinal = true;
        this.usage = mergedUsage(this.usage, statedUsage(body));
        break;
      case "message_stop":
        this.isDone = true;
        break;
      case "error":
        this.hasError = true;
        break;
      default:
        break;
    }
    return false;
  }

  /** A stream cut before `message_start` cannot be ended as a message: nothing was produced, so an error is the truth. */
  endEarly(end: EarlyEnd): string {
    if (this.isDone || !this.isStarted) return "";
    this.isDone = true;
    const stops = [...this.openBlocks].map((index) => typedEvent({ type: "content_block_stop", index }));
    this.openBlocks.clear();
    const delta = { stop_reason: "max_tokens", stop_sequence: null };
    const usage = { output_tokens: end.outputTokens };
    return [
      ...stops,
      typedEvent({ type: "message_delta", delta, usage, ...noteOf(end) }),
      typedEvent({ type: "message_stop" }),
    ].join("");
  }
}
