/**
 * Streams of pictures, speech and transcripts (OpenAI API reference: streaming events of each). They end with one event that
 * holds usage: image_generation.completed, image_edit.completed, speech.audio.done, transcript.text.done.
 */
import type { RawEvent } from "../sse";
import { isBody } from "./fields";
import { dataEvent, typedEvent } from "./sse-text";
import { statedUsage } from "./stated-usage";
import type { EarlyEnd, StreamObserver } from "./stream-observer";
import { eventJson, noteOf, TextCounter } from "./stream-observer";

const ENDS = /^(image_generation\.completed|image_edit\.completed|speech\.audio\.done|transcript\.text\.done)$/u;

export class MediaStreamObserver extends TextCounter implements StreamObserver {
  private transcript = "";
  private isNamed = false;

  constructor(private readonly kind: "image" | "speech" | "transcription") {
    super();
  }

  observe(event: RawEvent): boolean {
    // vLLM serves transcripts in chat's shape, with [DONE].
    if (event.data === "[DONE]") this.isDone = true;
    const body = eventJson(event);
    if (!body) return false;
    if (isBody(body.error) || body.type === "error") this.hasError = true;
    this.usage = statedUsage(body) ?? this.usage;
    const type = typeof body.type === "string" ? body.type : "";
    if (ENDS.test(type)) this.isDone = true;
    if (event.bytes[0] === EVENT_LINE) this.isNamed = true;
    for (const name of ["delta", "audio", "b64_json"]) this.count(body[name]);
    if (type === "transcript.text.delta" && typeof body.delta === "string") this.transcript += body.delta;
    return false;
  }

  /** A transcript ends with what was heard, speech with what was said; half a picture is nothing, so "" for pictures. */
  endEarly(end: EarlyEnd): string {
    if (this.isDone || this.kind === "image") return "";
    this.isDone = true;
    const usage = {
      input_tokens: end.inputTokens,
      output_tokens: end.outputTokens,
      total_tokens: end.inputTokens + end.outputTokens,
    };
    const isSpeech = this.kind === "speech";
    const type = isSpeech ? "speech.audio.done" : "transcript.text.done";
    const tokens = isSpeech ? usage : { type: "tokens", ...usage };
    const data = { type, ...(isSpeech ? {} : { text: this.transcript }), usage: tokens, ...noteOf(end) };
    return this.isNamed ? typedEvent(data) : dataEvent(data);
  }
}

/** "e" of `event:`. */
const EVENT_LINE = 101;
