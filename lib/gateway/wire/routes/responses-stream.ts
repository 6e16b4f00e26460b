/** Streams of OpenAI responses (API reference: streaming events): typed, numbered events; the last one holds the response. */
import type { RawEvent } from "../sse";
import { isBody } from "./fields";
import type { OpenItem } from "./responses-items";
import { closeItem, takeItemEvent } from "./responses-items";
import type { TypedData } from "./sse-text";
import { typedEvent } from "./sse-text";
import type { EarlyEnd, StreamObserver } from "./stream-observer";
import { eventJson, noteOf, numberOr, TextCounter } from "./stream-observer";
import { statedUsage } from "./stated-usage";

const ENDS = new Set(["response.completed", "response.incomplete", "response.failed"]);

export class ResponsesStreamObserver extends TextCounter implements StreamObserver {
  private response: Readonly<Record<string, unknown>> | undefined;
  private readonly items = new Map<number, OpenItem>();
  private sequence = -1;

  get answer(): Readonly<Record<string, unknown>> | undefined {
    return this.response;
  }

  observe(event: RawEvent): boolean {
    const body = eventJson(event);
    if (!body || typeof body.type !== "string") return false;
    const { type } = body;
    this.sequence = numberOr(body.sequence_number, this.sequence);
    if (isBody(body.response)) {
      this.response = body.response;
      this.usage = statedUsage(body) ?? this.usage;
    }
    if (ENDS.has(type)) this.isDone = true;
    if (type === "response.failed" || type === "error") this.hasError = true;
    // Text, arguments, reasoning and its summaries, audio: all of it comes in deltas.
    if (type.endsWith(".delta")) this.count(body.delta);
    // The name of a tool is made, too.
    else if (type === "response.output_item.added" && isBody(body.item)) this.count(body.item.name);
    takeItemEvent(this.items, type, body);
    return false;
  }

  /** Number of the next event, for an error event that must fit in. */
  get nextSequence(): number {
    return this.sequence + 1;
  }

  /** A stream cut before `response.created` has no response to end: "" then. */
  endEarly(end: EarlyEnd): string {
    if (this.isDone || !this.response) return "";
    this.isDone = true;
    const write = (data: TypedData): string => {
      this.sequence += 1;
      return typedEvent({ ...data, sequence_number: this.sequence });
    };
    const ordered = [...this.items].sort(([left], [right]) => left - right);
    const closing = ordered.map(([index, item]) => closeItem(index, item));
    const events = closing.flatMap(({ events: own }) => own).map(write);
    const response = {
      ...this.response,
      status: "incomplete",
      incomplete_details: { reason: "max_output_tokens" },
      output: closing.map(({ item }) => item),
      usage: {
        input_tokens: end.inputTokens,
        input_tokens_details: { cached_tokens: 0 },
        output_tokens: end.outputTokens,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: end.inputTokens + end.outputTokens,
      },
      ...noteOf(end),
    };
    return [...events, write({ type: "response.incomplete", response })].join("");
  }
}
