/** Streams of chat completions and completions (OpenAI API reference: streaming), of OpenAI and of servers like it. */
import type { RawEvent } from "../sse";
import { isBody } from "./fields";
import { DONE_EVENT, dataEvent } from "./sse-text";
import { statedUsage } from "./stated-usage";
import type { EarlyEnd, StreamObserver } from "./stream-observer";
import { eventJson, noteOf, numberOr, TextCounter } from "./stream-observer";

const DELTA_TEXTS = ["content", "reasoning_content", "reasoning", "refusal"];

export class ChatStreamObserver extends TextCounter implements StreamObserver {
  /** Members of the last chunk that every chunk of the stream shares. */
  private head: Readonly<Record<string, unknown>> = {};
  /** Choices seen, and whether each has ended. */
  private readonly choices = new Map<number, boolean>();

  constructor(private readonly kind: "chat" | "completion") {
    super();
  }

  get isUsageFinal(): boolean {
    return this.usage !== undefined;
  }

  get answer(): Readonly<Record<string, unknown>> {
    return this.head;
  }

  observe(event: RawEvent): boolean {
    if (event.data === "[DONE]") {
      this.isDone = true;
      return false;
    }
    const chunk = eventJson(event);
    if (!chunk) return false;
    if (isBody(chunk.error)) this.hasError = true;
    this.usage = statedUsage(chunk) ?? this.usage;
    if (typeof chunk.id === "string") this.head = chunk;
    const choices = Array.isArray(chunk.choices) ? (chunk.choices as unknown[]) : [];
    choices.forEach((choice, position) => {
      if (isBody(choice)) this.observeChoice(choice, position);
    });
    return choices.length === 0 && isBody(chunk.usage);
  }

  private observeChoice(choice: Readonly<Record<string, unknown>>, position: number): void {
    const isOver = typeof choice.finish_reason === "string";
    const index = numberOr(choice.index, position);
    this.choices.set(index, isOver || this.choices.get(index) === true);
    this.count(choice.text);
    const { delta } = choice;
    if (!isBody(delta)) return;
    for (const name of DELTA_TEXTS) this.count(delta[name]);
    for (const name of ["tool_calls", "function_call", "audio"])
      if (isBody(delta[name]) || Array.isArray(delta[name])) this.count(JSON.stringify(delta[name]));
  }

  endEarly(end: EarlyEnd): string {
    if (this.isDone) return "";
    this.isDone = true;
    const { id, created, model } = this.head;
    const object = this.kind === "chat" ? "chat.completion.chunk" : "text_completion";
    const head = { id: id ?? "", object, created: created ?? 0, model: model ?? "" };
    const open = [...this.choices].filter(([, isOver]) => !isOver).map(([index]) => index);
    if (this.choices.size === 0) open.push(0);
    const piece = this.kind === "chat" ? { delta: {} } : { text: "" };
    const choices = open.map((index) => ({ index, ...piece, logprobs: null, finish_reason: "length" }));
    const usage = {
      prompt_tokens: end.inputTokens,
      completion_tokens: end.outputTokens,
      total_tokens: end.inputTokens + end.outputTokens,
    };
    return [
      choices.length > 0 ? dataEvent({ ...head, choices, ...noteOf(end) }) : "",
      end.wantsUsage ? dataEvent({ ...head, choices: [], usage }) : "",
      DONE_EVENT,
    ].join("");
  }
}
