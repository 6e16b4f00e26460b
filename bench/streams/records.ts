/** What is known of a stream: what the provider sent, when it passed the tap, and what reached the client when. */

export interface Side {
  readonly parts: Buffer[];
  /** By event, by the shared clock: when its last byte was there. Events end with LF LF. */
  readonly endedAt: number[];
  endsWithLf: boolean;
}

export interface StreamRecord {
  readonly id: number;
  /** Known once the stream is over. */
  sent: Side;
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

export function newSide(): Side {
  return { parts: [], endedAt: [], endsWithLf: false };
}

/** Adds a part and the time of every event that ends in it. */
export function note(side: Side, bytes: Buffer, nowMs: number): void {
  side.parts.push(bytes);
  if (side.endsWithLf && bytes[0] === LF) side.endedAt.push(nowMs);
  for (let at = bytes.indexOf("\n\n"); at >= 0; at = bytes.indexOf("\n\n", at + 2)) side.endedAt.push(nowMs);
  side.endsWithLf = bytes[bytes.length - 1] === LF && (bytes.length < 2 || bytes[bytes.length - 2] !== LF);
}

export function createRecord(id: number): StreamRecord {
  return {
    id,
    sent: newSide(),
    got: newSide(),
    startedMs: 0,
    firstMs: 0,
    status: 0,
    requestId: "",
    splitChunks: 0,
    isOver: false,
  };
}

/** What the tap tells of a stream. */
export interface SentStream {
  readonly endedAt: number[];
  /** Base64. */
  readonly bytes: string;
}

/** `tapUrl` is an origin. */
export async function readSent(tapUrl: string, id: number): Promise<Side> {
  const answer = await fetch(`${tapUrl}/sent/${String(id)}`);
  const { endedAt, bytes } = (await answer.json()) as SentStream;
  return { parts: [Buffer.from(bytes, "base64")], endedAt, endsWithLf: false };
}

/** Stands in the prompt: whose answer it is that passes the tap, and how many milliseconds lie between its events. */
export interface Mark {
  readonly id: number;
  /** 0: as the provider sends them. */
  readonly paceMs: number;
}

const MARK = "stream-number-";
const DIGITS = 7;

export function markOf({ id, paceMs }: Mark): string {
  return `${MARK}${String(id).padStart(DIGITS, "0")}-${String(paceMs).padStart(DIGITS, "0")}`;
}

/** The mark in a part of a request; undefined where it has none. */
export function markedIn(bytes: Buffer): Mark | undefined {
  const at = bytes.indexOf(MARK);
  if (at < 0) return undefined;
  const id = at + MARK.length;
  const pace = id + DIGITS + 1;
  const numberAt = (start: number): number => Number(bytes.toString("latin1", start, start + DIGITS));
  return { id: numberAt(id), paceMs: numberAt(pace) };
}
