/**
 * Server-sent events as bytes (https://html.spec.whatwg.org/multipage/server-sent-events.html): splits a stream at blank
 * lines without touching a byte, so that events can be passed on as they came and one of them can be left out.
 */
import { joined } from "../http";

const LF = 10;
const CR = 13;
const SPACE = 32;

const decoder = new TextDecoder();
/** From the middle of a stream, where the mark of its byte order cannot be. */
const innerDecoder = new TextDecoder("utf-8", { ignoreBOM: true });
const DATA = [..."data:"].map((letter) => letter.charCodeAt(0));

/** Where the data of an event begins that is one line `data: ...` with its blank line, as nearly all are; -1 for others. */
function onlyLineStart(bytes: Uint8Array): number {
  const end = bytes.length - 2;
  if (end < DATA.length || bytes[end] !== LF || bytes[end + 1] !== LF) return -1;
  if (DATA.some((code, index) => bytes[index] !== code)) return -1;
  const isOneLine = bytes.indexOf(LF) === end && !bytes.includes(CR);
  return isOneLine ? DATA.length + (bytes[DATA.length] === SPACE ? 1 : 0) : -1;
}

function dataOf(bytes: Uint8Array): string {
  const start = onlyLineStart(bytes);
  if (start >= 0) return innerDecoder.decode(bytes.subarray(start, bytes.length - 2));
  const lines: string[] = [];
  for (const line of decoder.decode(bytes).split(/\r\n|\n|\r/u)) {
    if (line.startsWith("data:")) lines.push(line.slice(line.charCodeAt(5) === SPACE ? 6 : 5));
  }
  return lines.join("\n");
}

/** An event with the blank line that ends it. */
export class RawEvent {
  private decoded: string | undefined;

  constructor(readonly bytes: Uint8Array) {}

  /** Data of the event, lines joined; "" for comments. Decoded when it is asked for. */
  get data(): string {
    return (this.decoded ??= dataOf(this.bytes));
  }
}

/** Largest event kept in memory; a provider that sends more than this without a blank line is cut off. */
export const MAX_EVENT_BYTES = 16 * 1024 * 1024;

/** Cuts a byte stream into events at arbitrary chunk boundaries. LF, CRLF and CR line ends. */
export class SseSplitter {
  /** The event that has begun, as it came. */
  private parts: Uint8Array[] = [];
  private length = 0;
  private isLineEmpty = true;
  /** The last byte was a CR: what follows says whether its line end is one byte or two. */
  private isAfterCr = false;

  /** Events completed by this chunk. Throws RangeError where an event exceeds MAX_EVENT_BYTES. */
  push(chunk: Uint8Array): RawEvent[] {
    const events: RawEvent[] = [];
    let start = 0;
    let { isLineEmpty, isAfterCr } = this;
    for (let at = 0; at < chunk.length; at += 1) {
      const code = chunk[at];
      const endsLine = isAfterCr || code === LF;
      if (endsLine) {
        // A CR alone has ended its line before this byte, which is the next line's.
        const end = code === LF ? at + 1 : at;
        if (isLineEmpty) {
          events.push(this.eventTo(chunk.subarray(start, end)));
          start = end;
        }
        isLineEmpty = true;
      }
      isAfterCr = code === CR;
      if (code !== CR && code !== LF) isLineEmpty = false;
    }
    this.isLineEmpty = isLineEmpty;
    this.isAfterCr = isAfterCr;
    this.keep(chunk.subarray(start));
    return events;
  }

  private eventTo(last: Uint8Array): RawEvent {
    if (this.length === 0) return new RawEvent(last);
    this.parts.push(last);
    return new RawEvent(this.take(last.length));
  }

  private keep(rest: Uint8Array): void {
    if (rest.length === 0) return;
    this.parts.push(rest);
    this.length += rest.length;
    if (this.length > MAX_EVENT_BYTES) throw new RangeError("event too large");
  }

  private take(more: number): Uint8Array {
    const bytes = joined(this.parts, this.length + more);
    this.parts = [];
    this.length = 0;
    return bytes;
  }

  /** What is left when the stream ends: an event that was not closed, or nothing. */
  rest(): RawEvent | undefined {
    return this.length === 0 ? undefined : new RawEvent(this.take(0));
  }
}
