/** What is known of a stream: what the provider sent, when it passed the tap, and what reached the client when. */

export interface Side {
  readonly parts: Buffer[];
  /** By event, in performance.now() milliseconds: when its last byte was there. Events end with LF LF. */
  readonly endedAt: number[];
  endsWithLf: boolean;
}

export interface StreamRecord {
  readonly id: number;
  readonly sent: Side;
  readonly got: Side;
  /** When the request was written. */
  startedMs: number;
  /** When the first byte of the body came; 0 before. */
  firstMs: number;
  status: number;
  requestId: string;
  /** Transfer chunks of the client that did not end where an event ends. */
  splitChunks: number;
  isOver: boolean;
}

const LF = 10;

function newSide(): Side {
  return { parts: [], endedAt: [], endsWithLf: false };
}

/** Adds a part and the time of every event that ends in it. */
export function note(side: Side, bytes: Buffer, nowMs: number): void {
  side.parts.push(bytes);
  if (side.endsWithLf && bytes[0] === LF) side.endedAt.push(nowMs);
  for (let at = bytes.indexOf("\n\n"); at >= 0; at = bytes.indexOf("\n\n", at + 2)) side.endedAt.push(nowMs);
  side.endsWithLf = bytes[bytes.length - 1] === LF && (bytes.length < 2 || bytes[bytes.length - 2] !== LF);
}

/** All streams of a run by the number that stands in their requests. */
export class Records {
  private readonly records: StreamRecord[] = [];

  create(): StreamRecord {
    const record: StreamRecord = {
      id: this.records.length,
      sent: newSide(),
      got: newSide(),
      startedMs: 0,
      firstMs: 0,
      status: 0,
      requestId: "",
      splitChunks: 0,
      isOver: false,
    };
    this.records.push(record);
    return record;
  }

  find(id: number): StreamRecord | undefined {
    return this.records[id];
  }
}

const MARK = "stream-number-";
const MARK_DIGITS = 7;

/** Stands in the prompt, by which the tap knows whose answer passes. */
export function markOf(id: number): string {
  return MARK + String(id).padStart(MARK_DIGITS, "0");
}

/** The number in a part of a request; undefined where it has none. */
export function markedIn(bytes: Buffer): number | undefined {
  const at = bytes.indexOf(MARK);
  if (at < 0) return undefined;
  const start = at + MARK.length;
  return Number(bytes.toString("latin1", start, start + MARK_DIGITS));
}
