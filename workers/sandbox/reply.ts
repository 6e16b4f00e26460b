/** The answer to one request on a raw connection: sent whole, streamed in chunks, or broken off on purpose. */
import { Buffer } from "node:buffer";
import type { Socket } from "node:net";

const STATUS_TEXT = new Map([
  [200, "OK"],
  [302, "Found"],
  [307, "Temporary Redirect"],
  [400, "Bad Request"],
  [401, "Unauthorized"],
  [402, "Payment Required"],
  [403, "Forbidden"],
  [404, "Not Found"],
  [405, "Method Not Allowed"],
  [413, "Payload Too Large"],
  [422, "Unprocessable Entity"],
  [429, "Too Many Requests"],
  [500, "Internal Server Error"],
  [503, "Service Unavailable"],
]);

const CRLF = Buffer.from("\r\n");

/** Header lines, each ended by CRLF. */
export type HeaderLines = string;

let dateSecond = 0;
let dateLine = "";

function dateHeader(): HeaderLines {
  const second = Math.floor(Date.now() / 1000);
  if (second !== dateSecond) {
    dateSecond = second;
    dateLine = `date: ${new Date(second * 1000).toUTCString()}\r\n`;
  }
  return dateLine;
}

export class Reply {
  /** `ending`: all has been said, but not all of it sent. */
  private state: "waiting" | "streaming" | "ending" | "ended" = "waiting";
  /** Sends that wait for their turn of the loop; undefined where everything is sent at once. */
  private paced: (() => void)[] | undefined;
  private heldHead = "";
  private gone: (() => void) | undefined;
  private done: (() => void) | undefined;

  /** `ended` is called once when the connection is free for its next request. */
  constructor(
    private readonly socket: Socket,
    private readonly closesConnection: boolean,
    private readonly ended: () => void,
  ) {}

  get hasBegun(): boolean {
    return this.state !== "waiting";
  }

  get isOver(): boolean {
    return this.state === "ended" || this.state === "ending";
  }

  /** Sets, or clears, what happens if the connection ends before the answer does. */
  whenGone(listener: (() => void) | undefined): void {
    this.gone = listener;
  }

  /** Sets what happens once the answer is over, one way or the other. */
  whenDone(listener: () => void): void {
    this.done = listener;
  }

  /** Sends a whole answer with a JSON body. */
  send(status: number, body: string, headers: HeaderLines = ""): void {
    const bytes = Buffer.byteLength(body);
    const head = `${this.head(status)}content-type: application/json\r\ncontent-length: ${bytes}\r\n${headers}\r\n`;
    // Nearly all bodies are ASCII, which is written with less work than text that must be encoded.
    this.socket.write(head + body, bytes === body.length ? "latin1" : "utf8");
    this.finish();
  }

  /** Sends a whole answer of any kind. */
  sendBytes(contentType: string, body: Buffer, headers: HeaderLines): void {
    this.socket.write(Buffer.concat([this.lengthHead(contentType, body.length, headers), body]));
    this.finish();
  }

  /** Announces the whole of a body, sends its first `count` bytes, and breaks the connection. */
  sendPart(contentType: string, body: Buffer, count: number, headers: HeaderLines): void {
    const head = this.lengthHead(contentType, body.length, headers);
    this.breakConnection(Buffer.concat([head, body.subarray(0, count)]));
  }

  /** Sends the client elsewhere. */
  redirect(status: number, location: string, headers: HeaderLines): void {
    this.socket.write(`${this.head(status)}location: ${location}\r\ncontent-length: 0\r\n${headers}\r\n`);
    this.finish();
  }

  /** Begins a chunked answer. Its head travels with the first piece. */
  start(headers: HeaderLines): void {
    this.state = "streaming";
    this.heldHead = `${this.head(200)}transfer-encoding: chunked\r\n${headers}\r\n`;
  }

  /** Sends a piece of a chunked answer; false when the socket is full and `onceDrain` should be awaited. */
  write(piece: string): boolean {
    return this.socket.write(this.framed(piece));
  }

  /** Sends the head of a chunked answer before there is a piece. */
  writeHead(): void {
    this.socket.write(this.framed(""));
  }

  /** As `write`, for bytes. */
  writeBytes(piece: Buffer): boolean {
    return this.put(this.framedBytes(piece));
  }

  /** As `write`, in chunks of at most `size` bytes and one a turn of the loop, so that a client reads them apart. */
  writePaced(piece: Buffer, size: number): void {
    this.paced ??= [];
    for (let from = 0; from < piece.length; from += size) this.writeBytes(piece.subarray(from, from + size));
  }

  /** Sends the last piece and ends a chunked answer in order. */
  end(piece: string): void {
    const last = `${this.framed(piece)}0\r\n\r\n`;
    if (this.paced === undefined) {
      this.socket.write(last);
      this.finish();
      return;
    }
    this.state = "ending";
    this.put(last);
    this.inTurn(() => this.finish());
  }

  /** Sends the last piece of a chunked answer and breaks the connection. */
  cut(piece: string): void {
    const last = this.framed(piece);
    this.state = "ending";
    this.inTurn(() => this.breakConnection(last));
  }

  /** Breaks the connection as soon as what was written has been sent. */
  cutNow(): void {
    this.state = "ending";
    this.inTurn(() => {
      this.finished();
      this.socket.destroySoon();
    });
  }

  onceDrain(listener: () => void): void {
    this.socket.once("drain", listener);
  }

  /** Breaks the connection without (further) answer. */
  drop(): void {
    this.breakConnection("");
  }

  private breakConnection(last: string | Buffer): void {
    this.finished();
    if (last.length === 0) this.socket.destroy();
    else this.socket.write(last, () => this.socket.destroy());
  }

  /** For the connection: it has ended. */
  connectionClosed(): void {
    if (this.state === "ended") return;
    const { gone } = this;
    this.finished();
    gone?.();
  }

  private takeHead(): string {
    const head = this.heldHead;
    this.heldHead = "";
    return head;
  }

  private lengthHead(contentType: string, length: number, headers: HeaderLines): Buffer {
    return Buffer.from(`${this.head(200)}content-type: ${contentType}\r\ncontent-length: ${length}\r\n${headers}\r\n`);
  }

  private framedBytes(piece: Buffer): Buffer {
    // A chunk without bytes would end the answer.
    if (piece.length === 0) return Buffer.from(this.takeHead());
    const size = Buffer.from(`${this.takeHead()}${piece.length.toString(16)}\r\n`);
    return Buffer.concat([size, piece, CRLF]);
  }

  private put(data: Buffer | string): boolean {
    if (this.paced === undefined) return this.socket.write(data);
    this.inTurn(() => this.socket.write(data));
    return true;
  }

  /** Does it at once, or after all that waits. */
  private inTurn(act: () => void): void {
    if (this.paced === undefined) {
      act();
      return;
    }
    this.paced.push(act);
    if (this.paced.length === 1) setImmediate(() => this.takeTurn());
  }

  private takeTurn(): void {
    if (this.state === "ended") return;
    this.paced?.[0]?.();
    this.paced?.shift();
    if (this.paced !== undefined && this.paced.length > 0) setImmediate(() => this.takeTurn());
  }

  private framed(piece: string): string {
    const head = this.takeHead();
    return piece === "" ? head : `${head}${Buffer.byteLength(piece).toString(16)}\r\n${piece}\r\n`;
  }

  private head(status: number): string {
    const connection = this.closesConnection ? "connection: close\r\n" : "";
    return `HTTP/1.1 ${status} ${STATUS_TEXT.get(status) ?? "Status"}\r\n${dateHeader()}${connection}`;
  }

  private finish(): void {
    this.finished();
    if (this.closesConnection) this.socket.end();
    else this.ended();
  }

  private finished(): void {
    this.state = "ended";
    this.gone = undefined;
    this.done?.();
    this.done = undefined;
  }
}
