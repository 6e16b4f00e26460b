/**
 * Reads answers of HTTP/1.1 off a connection, one after another, with as little work as can be: it stands beside what is
 * measured, on the same cores. Bodies are chunked or of a stated length; nothing else comes from either side.
 */

export interface AnswerHead {
  readonly status: number;
  /** All lines, lower case. */
  readonly headers: string;
}

export interface AnswerListener {
  head(head: AnswerHead): void;
  /** A part of the body; `isWhole` where it ends a transfer chunk. */
  body(bytes: Buffer, isWhole: boolean, nowMs: number): void;
  end(): void;
}

const CR = 13;
const EMPTY: Buffer = Buffer.alloc(0);

export class AnswerReader {
  private pending: Buffer = EMPTY;
  private state: "head" | "size" | "data" | "plain" | "trailer" = "head";
  /** Bytes of the chunk or the body that are still to come. */
  private left = 0;

  constructor(private readonly listener: AnswerListener) {}

  /** Throws where the bytes are no such answer. */
  push(bytes: Buffer, nowMs: number): void {
    let rest = this.pending.length === 0 ? bytes : Buffer.concat([this.pending, bytes]);
    for (;;) {
      const used = this.step(rest, nowMs);
      if (used === 0) break;
      rest = rest.subarray(used);
    }
    this.pending = rest;
  }

  /** How many bytes were used; 0 where more are needed. */
  private step(bytes: Buffer, nowMs: number): number {
    if (bytes.length === 0) return 0;
    switch (this.state) {
      case "head":
        return this.readHead(bytes);
      case "size":
        return this.readSize(bytes);
      case "trailer":
        return this.readTrailer(bytes);
      default:
        return this.readData(bytes, nowMs);
    }
  }

  private readHead(bytes: Buffer): number {
    const end = bytes.indexOf("\r\n\r\n");
    if (end < 0) return 0;
    const headers = bytes.toString("latin1", 0, end + 2).toLowerCase();
    const status = Number(headers.slice(9, 12));
    const length = /\r\ncontent-length: (\d+)\r\n/u.exec(headers)?.[1];
    if (length === undefined && !headers.includes("\r\ntransfer-encoding: chunked\r\n")) {
      throw new Error(`an answer without a length: ${headers.slice(0, 200)}`);
    }
    this.listener.head({ status, headers });
    this.left = Number(length ?? "0");
    this.state = length === undefined ? "size" : "plain";
    if (length !== undefined && this.left === 0) this.finish();
    return end + 4;
  }

  private readSize(bytes: Buffer): number {
    const end = bytes.indexOf("\r\n");
    if (end < 0) return 0;
    this.left = parseInt(bytes.toString("latin1", 0, end), 16);
    if (!Number.isInteger(this.left)) throw new Error("a transfer chunk without a size");
    this.state = this.left === 0 ? "trailer" : "data";
    return end + 2;
  }

  private readData(bytes: Buffer, nowMs: number): number {
    const isChunked = this.state === "data";
    // The line end behind a chunk is waited for, so that it can be taken with it.
    const isWhole = bytes.length >= this.left + (isChunked ? 2 : 0);
    const taken = Math.min(bytes.length, this.left);
    if (taken === 0 && !isWhole) return 0;
    if (taken > 0) this.listener.body(bytes.subarray(0, taken), taken === this.left, nowMs);
    this.left -= taken;
    if (!isWhole) return taken;
    if (!isChunked) {
      this.finish();
      return taken;
    }
    if (bytes[taken] !== CR) throw new Error("a transfer chunk of another size than it says");
    this.state = "size";
    return taken + 2;
  }

  private readTrailer(bytes: Buffer): number {
    if (bytes.length < 2) return 0;
    this.finish();
    return 2;
  }

  private finish(): void {
    this.state = "head";
    this.listener.end();
  }
}
