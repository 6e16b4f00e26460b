/**
 * One client connection: requests in, one reply at a time, kept alive.
 *
 * The sandbox speaks HTTP over plain sockets because it is the upstream of throughput measurements and shares their
 * cores: measured beside node:http in the same sandbox, a request costs about half the CPU.
 */
import type { Buffer } from "node:buffer";
import type { Socket } from "node:net";
import { ByteQueue } from "./byte-queue";
import { errorJson } from "./errors";
import { BadRequest, type HttpRequest, parseRequest } from "./http-request";
import { Reply } from "./reply";

/** One request of the largest size, and some pipelined behind it. */
const MAX_BUFFERED_BYTES = 320 * 1024 * 1024;

export type RequestHandler = (request: HttpRequest, reply: Reply) => void;

export class Connection {
  private readonly queue = new ByteQueue();
  /** Bytes without which there is no sense in parsing again. */
  private needed = 1;
  private reply: Reply | undefined;
  private isAdvancing = false;
  private hasContinued = false;

  constructor(
    private readonly socket: Socket,
    private readonly handle: RequestHandler,
  ) {
    socket.setNoDelay(true);
    socket.on("data", (piece: Buffer) => {
      this.queue.append(piece);
      if (this.queue.length > MAX_BUFFERED_BYTES) socket.destroy();
      else this.advance();
    });
    // A client that has said its last word does not wait for an answer either.
    socket.on("end", () => {
      if (this.reply?.isOver === false) socket.destroy();
    });
    socket.on("close", () => this.reply?.connectionClosed());
    socket.on("error", () => socket.destroy());
  }

  /** Serves buffered requests until one is answered later or more bytes are needed. */
  private advance(): void {
    if (this.isAdvancing) return;
    this.isAdvancing = true;
    try {
      while (this.reply === undefined && this.queue.length >= this.needed && this.socket.writable) this.serveNext();
    } catch (error) {
      if (!(error instanceof BadRequest)) throw error;
      const reply = new Reply(this.socket, true, () => undefined);
      reply.send(error.status, errorJson("invalid_request_error", null, error.message, null));
    } finally {
      this.isAdvancing = false;
    }
  }

  private serveNext(): void {
    const parsed = parseRequest(this.queue.view());
    if (parsed.kind === "incomplete") {
      this.needed = parsed.needed;
      if (parsed.expectsContinue && !this.hasContinued) this.socket.write("HTTP/1.1 100 Continue\r\n\r\n");
      this.hasContinued ||= parsed.expectsContinue;
      return;
    }
    this.queue.drop(parsed.length);
    this.needed = 1;
    this.hasContinued = false;
    const { request } = parsed;
    this.reply = new Reply(this.socket, request.headers.connection?.toLowerCase() === "close", () => {
      this.reply = undefined;
      this.advance();
    });
    this.handle(request, this.reply);
  }
}
