/** A client that keeps one bare connection and streams one answer after another over it. */
import { connect } from "node:net";
import type { Socket } from "node:net";
import { AnswerReader } from "./answer-reader";
import { sharedMs } from "./clock";
import type { StreamRecord } from "./records";
import { note } from "./records";

export interface RawRequest {
  readonly path: string;
  readonly body: string;
}

const BLANK_LINES = ["\n\n", "\r\n\r\n"];

function endsAnEvent(bytes: Buffer): boolean {
  const tail = bytes.toString("latin1", Math.max(0, bytes.length - 4));
  return BLANK_LINES.some((line) => tail.endsWith(line));
}

export class RawClient {
  private readonly socket: Socket;
  private record: StreamRecord | undefined;
  private resolve: (() => void) | undefined;

  /** `url` is an origin. */
  constructor(
    url: string,
    private readonly secret: string,
  ) {
    const { hostname, port } = new URL(url);
    this.socket = connect({ host: hostname, port: Number(port) });
    this.socket.setNoDelay(true);
    const reader = new AnswerReader({
      head: ({ status, headers }) => {
        if (!this.record) return;
        this.record.status = status;
        this.record.requestId = /\r\nx-request-id: (\S+)\r\n/u.exec(headers)?.[1] ?? "";
      },
      body: (bytes, isWhole, nowMs) => {
        const { record } = this;
        if (!record) return;
        if (record.firstMs === 0) record.firstMs = nowMs;
        note(record.got, bytes, nowMs);
        if (isWhole && !endsAnEvent(bytes)) record.splitChunks += 1;
      },
      end: () => {
        if (this.record) this.record.isOver = true;
        this.settle();
      },
    });
    this.socket.on("data", (bytes: Buffer) => reader.push(bytes, sharedMs()));
    this.socket.on("error", () => this.settle());
    this.socket.on("close", () => this.settle());
  }

  private settle(): void {
    this.resolve?.();
    this.resolve = undefined;
  }

  /** Resolves when the answer is over, or the connection; the record says which. */
  stream(record: StreamRecord, { path, body }: RawRequest): Promise<void> {
    this.record = record;
    const head =
      `POST ${path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer ${this.secret}\r\nanthropic-version: 2023-06-01\r\n` +
      `content-type: application/json\r\ncontent-length: ${String(Buffer.byteLength(body))}\r\n\r\n`;
    return new Promise((resolve) => {
      this.resolve = resolve;
      if (this.socket.destroyed) this.settle();
      record.startedMs = sharedMs();
      this.socket.write(head + body);
    });
  }

  close(): void {
    this.socket.destroy();
  }
}
