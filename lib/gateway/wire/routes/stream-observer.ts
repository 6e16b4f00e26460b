/** What every observer of a stream says, and what they share: counting text, and reading an event's JSON. */
import { utf8Length } from "../utf8-length";
import type { RawEvent } from "../sse";
import { isBody } from "./fields";
import type { RawUsage } from "./stated-usage";

export interface EarlyEnd {
  /** What is billed of the stream, for its last event. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Whether the client asked to be told usage (chat and completions). */
  readonly wantsUsage: boolean;
  /** Said in a member of the last event that SDKs pass by. */
  readonly note: string | null;
}

export interface StreamObserver {
  /** As stated last, raw; undefined where the server has not said. */
  readonly usage: RawUsage | undefined;
  /** Whether what is stated so far is of the whole answer, though the stream has not said its end. */
  readonly isUsageFinal?: boolean;
  /** What the answer says beside its usage: tier, output items. */
  readonly answer?: Readonly<Record<string, unknown>> | undefined;
  /** Number of the next event, in streams whose events are numbered. */
  readonly nextSequence?: number;
  /** Pieces of output and their UTF-8 bytes: what a count has to go by where usage never comes. */
  readonly outputPieces: number;
  readonly outputBytes: number;
  /** Whether anything was produced that a provider would bill. */
  readonly hasOutput: boolean;
  /** Whether the stream said its own end. */
  readonly isDone: boolean;
  /** An error inside the 200. */
  readonly hasError: boolean;
  /** Takes note of an event; true where it exists only because the gateway asked for usage. */
  observe(event: RawEvent): boolean;
  /** Text that ends the stream well-formed at this point, as if a cap had been reached; "" where it has ended. */
  endEarly(end: EarlyEnd): string;
}

/** State that all observers have. */
export abstract class TextCounter {
  usage: RawUsage | undefined;
  outputPieces = 0;
  outputBytes = 0;
  isDone = false;
  hasError = false;

  get hasOutput(): boolean {
    return this.outputPieces > 0;
  }

  protected count(text: unknown): void {
    if (typeof text !== "string" || text === "") return;
    this.outputPieces += 1;
    this.outputBytes += utf8Length(text);
  }
}

/** JSON object of an event; undefined for comments, `[DONE]` and what is not JSON. */
export function eventJson(event: RawEvent): Readonly<Record<string, unknown>> | undefined {
  if (event.data === "" || event.data === "[DONE]") return undefined;
  try {
    const value: unknown = JSON.parse(event.data);
    return isBody(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export function numberOr(value: unknown, fallback: number): number {
  return typeof value === "number" ? value : fallback;
}

export function noteOf(end: EarlyEnd): Readonly<Record<string, string>> {
  return end.note === null ? {} : { spillway_note: end.note };
}
