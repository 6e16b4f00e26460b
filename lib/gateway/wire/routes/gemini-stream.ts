/** Streams of Gemini's streamGenerateContent with `alt=sse`: every chunk states usage, the last one counts. */
import type { RawEvent } from "../sse";
import { isBody } from "./fields";
import { dataEvent } from "./sse-text";
import { statedUsage } from "./stated-usage";
import type { EarlyEnd, StreamObserver } from "./stream-observer";
import { eventJson, noteOf, numberOr, TextCounter } from "./stream-observer";

export class GeminiStreamObserver extends TextCounter implements StreamObserver {
  private readonly candidates = new Map<number, boolean>();
  private head: Readonly<Record<string, unknown>> = {};

  observe(event: RawEvent): boolean {
    const chunk = eventJson(event);
    if (!chunk) return false;
    if (isBody(chunk.error)) this.hasError = true;
    this.usage = statedUsage(chunk) ?? this.usage;
    const { modelVersion, responseId } = chunk;
    this.head = { ...this.head, ...(modelVersion ? { modelVersion } : {}), ...(responseId ? { responseId } : {}) };
    if (Array.isArray(chunk.candidates)) for (const candidate of chunk.candidates) this.observeCandidate(candidate);
    const isBlocked = isBody(chunk.promptFeedback) && typeof chunk.promptFeedback.blockReason === "string";
    const isOver = this.candidates.size > 0 && [...this.candidates.values()].every(Boolean);
    this.isDone ||= isBlocked || isOver;
    return false;
  }

  private observeCandidate(candidate: unknown): void {
    if (!isBody(candidate)) return;
    const index = numberOr(candidate.index, 0);
    this.candidates.set(index, typeof candidate.finishReason === "string" || this.candidates.get(index) === true);
    const parts = isBody(candidate.content) && Array.isArray(candidate.content.parts) ? candidate.content.parts : [];
    for (const part of parts as unknown[]) {
      if (!isBody(part)) continue;
      if (typeof part.text === "string") this.count(part.text);
      else if (Object.keys(part).length > 0) this.count(JSON.stringify(part));
    }
  }

  endEarly(end: EarlyEnd): string {
    if (this.isDone) return "";
    this.isDone = true;
    const open = [...this.candidates].filter(([, isOver]) => !isOver).map(([index]) => index);
    if (open.length === 0) open.push(0);
    const content = { role: "model", parts: [{ text: "" }] };
    return dataEvent({
      candidates: open.map((index) => ({ index, content, finishReason: "MAX_TOKENS" })),
      usageMetadata: {
        promptTokenCount: end.inputTokens,
        candidatesTokenCount: end.outputTokens,
        totalTokenCount: end.inputTokens + end.outputTokens,
      },
      ...this.head,
      ...noteOf(end),
    });
  }
}
