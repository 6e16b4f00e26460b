/**
 * Server-sent events as bytes (https://html.spec.whatwg.org/multipage/server-sent-events.html): splits a stream at blank
 * lines without touching a byte, so that events can be passed on as they came and one of them can be left out.
 */
const LF = 10;
const CR = 13;

export interface RawEvent {
  /** The event with the blank line that ends it. */
  readonly bytes: Uint8Array;
  /** Data of the event, lines joined; "" for comments. */
  readonly data: string;
}

const decoder = new TextDecoder();

function dataOf(bytes: Uint8Array): string {
  const lines: string[] = [];
  for (const line of decoder.decode(bytes).split(/\r\n|\n|\r/u)) {
    if (line.startsWith("data:")) lines.push(line.slice(line.charCodeAt(5) === 32 ? 6 : 5));
  }
  return lines.join("\n");
}

/** Largest event kept in memory; a provider that sends more than this without a blank line is cut off. */
export const MAX_EVENT_BYTES = 16 * 1024 * 1024;

/** Cuts a byte stream into events at arbitrary chunk boundaries. LF, CRLF and CR line ends. */
export class SseSplitter {
  private pending: Uint8Array = new Uint8Array(0);
  /** Where the search for a line end goes on, and whether the line there is empty so far. */
  private searched = 0;
  private isLineEmpty = true;

  /** Events completed by this chunk. Throws RangeError where an event exceeds MAX_EVENT_BYTES. */
  push(chunk: Uint8Array): RawEvent[] {
    const bytes = this.pending.length === 0 ? chunk : concat(this.pending, chunk);
    const events: RawEvent[] = [];
    let start = 0;
    let at = this.searched;
    while (at < bytes.length) {
      const code = bytes[at];
      if (code !== LF && code !== CR) {
        this.isLineEmpty = false;
        at += 1;
        continue;
      }
      // A CR at the very end may be half of CRLF: wait for the next byte.
      if (code === CR && at + 1 === bytes.length) break;
      at += code === CR && bytes[at + 1] === LF ? 2 : 1;
      if (this.isLineEmpty) {
        const event = bytes.subarray(start, at);
        events.push({ bytes: event, data: dataOf(event) });
        start = at;
      }
      this.isLineEmpty = true;
    }
    this.pending = bytes.subarray(start);
    this.searched = at - start;
    if (this.pending.length > MAX_EVENT_BYTES) throw new RangeError("event too large");
    return events;
  }

  /** What is left when the stream ends: an event that was not closed, or nothing. */
  rest(): RawEvent | undefined {
    return this.pending.length === 0 ? undefined : { bytes: this.pending, data: dataOf(this.pending) };
  }
}

function concat(left: Uint8Array, right: Uint8Array): Uint8Array {
  const joined = new Uint8Array(left.length + right.length);
  joined.set(left);
  joined.set(right, left.length);
  return joined;
}
