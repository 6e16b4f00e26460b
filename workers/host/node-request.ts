/** node:http to GatewayRequest and GatewayAnswer, without Web classes in between. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { ByteSink, ByteStream } from "@/lib/gateway/byte-stream";
import { isByteStream } from "@/lib/gateway/byte-stream";
import type { GatewayAnswer, GatewayRequest } from "@/lib/gateway/http";
import { joined } from "@/lib/gateway/http";

/** One header by lower-case name; repeated ones are joined as RFC 9110 section 5.3 says. */
function headerOf(incoming: IncomingMessage, name: string): string | null {
  const value = incoming.headers[name];
  if (value === undefined) return null;
  return typeof value === "string" ? value : value.join(", ");
}

function bytesOf(incoming: IncomingMessage, maxBytes: number): Promise<Uint8Array | "too_large"> {
  const declared = incoming.headers["content-length"];
  if (declared !== undefined && !(Number(declared) <= maxBytes)) return Promise.resolve("too_large");
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    incoming.on("data", (chunk: Buffer) => {
      length += chunk.length;
      if (length > maxBytes) {
        incoming.pause();
        resolve("too_large");
      } else {
        chunks.push(chunk);
      }
    });
    incoming.on("end", () => {
      resolve(joined(chunks, length));
    });
    incoming.on("error", reject);
  });
}

/** Aborted when the connection ends before the answer does. */
function signalOf(outgoing: ServerResponse): AbortSignal {
  const controller = new AbortController();
  if (outgoing.destroyed) controller.abort();
  outgoing.on("close", () => {
    if (!outgoing.writableFinished) controller.abort();
  });
  return controller.signal;
}

/** A class, because an object with an accessor of its own is dear to make for every call. */
class NodeRequest implements GatewayRequest {
  readonly method: string;
  readonly url: string;
  private watched: AbortSignal | undefined;

  constructor(
    private readonly incoming: IncomingMessage,
    private readonly outgoing: ServerResponse,
  ) {
    this.method = incoming.method ?? "GET";
    this.url = incoming.url ?? "/";
  }

  get headers(): this {
    return this;
  }

  get(name: string): string | null {
    return headerOf(this.incoming, name);
  }

  bytes(maxBytes: number): Promise<Uint8Array | "too_large"> {
    return bytesOf(this.incoming, maxBytes);
  }

  /** A reader that stops early has an answer to give on the same connection. */
  chunks(): AsyncIterable<Uint8Array> {
    const { incoming } = this;
    return { [Symbol.asyncIterator]: () => incoming.iterator({ destroyOnReturn: false }) };
  }

  get signal(): AbortSignal {
    return (this.watched ??= signalOf(this.outgoing));
  }
}

export function gatewayRequestOf(incoming: IncomingMessage, outgoing: ServerResponse): GatewayRequest {
  return new NodeRequest(incoming, outgoing);
}

const CR = 13;
const LF = 10;

/** One transfer chunk in one piece (RFC 9112 section 7.1): node:http would hand four to the kernel. */
function framed(bytes: Uint8Array): Buffer {
  const size = bytes.length.toString(16);
  const frame = Buffer.allocUnsafe(size.length + bytes.length + 4);
  // By hand: to write so few characters as a text costs more than all else here.
  for (let at = 0; at < size.length; at += 1) frame[at] = size.charCodeAt(at);
  frame[size.length] = frame[frame.length - 2] = CR;
  frame[size.length + 1] = frame[frame.length - 1] = LF;
  frame.set(bytes, size.length + 2);
  return frame;
}

/** Writes what comes to the connection, each piece as a transfer chunk of its own. */
class ConnectionSink implements ByteSink {
  private isFull = false;
  private readonly goOn = (): void => {
    this.isFull = false;
    this.body.resume();
  };

  constructor(
    private readonly outgoing: ServerResponse,
    private readonly body: ByteStream,
  ) {}

  write(bytes: Uint8Array): boolean {
    const { outgoing } = this;
    // A chunk of no bytes would end the body.
    if (outgoing.destroyed || bytes.length === 0) return true;
    // Without a connection of its own yet (pipelined calls), and for clients of HTTP/1.0, node:http does it.
    const socket = outgoing.chunkedEncoding ? outgoing.socket : null;
    const hasRoom = socket ? socket.write(framed(bytes)) : outgoing.write(bytes);
    if (!hasRoom && !this.isFull) {
      this.isFull = true;
      (socket ?? outgoing).once("drain", this.goOn);
    }
    return hasRoom;
  }

  end(): void {
    this.outgoing.end();
  }

  fail(): void {
    this.outgoing.destroy();
  }
}

/** Writes a stream as it comes, at the pace of the client; a client that leaves cancels it. */
function flow(body: ByteStream, outgoing: ServerResponse): void {
  outgoing.on("close", () => {
    if (!outgoing.writableFinished) body.cancel();
  });
  // Gone before we listened: no event will say so, and a stream nobody cancels keeps its hold for ever.
  if (outgoing.destroyed) {
    body.cancel();
    return;
  }
  // The head goes at once, and in one write with what of the body is there already.
  outgoing.cork();
  outgoing.flushHeaders();
  body.start(new ConnectionSink(outgoing, body));
  outgoing.uncork();
}

/** What a client may still send of a body that nobody wants; beyond it the connection is closed. */
const MAX_DISCARDED_BYTES = 32 * 1024 * 1024;

/** Lets a client finish sending what was refused: one whose connection is closed meanwhile never reads why. */
function discardRest(incoming: IncomingMessage): void {
  let left = MAX_DISCARDED_BYTES;
  incoming.removeAllListeners("data");
  incoming.on("data", (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) incoming.destroy();
  });
  incoming.resume();
}

export function sendAnswer(answer: GatewayAnswer, incoming: IncomingMessage, outgoing: ServerResponse): void {
  const { status, headers, body } = answer;
  if (!incoming.complete) discardRest(incoming);
  if (isByteStream(body)) {
    outgoing.writeHead(status, headers);
    flow(body, outgoing);
    return;
  }
  const lines: string[] = [];
  for (const name in headers) lines.push(name, headers[name] ?? "");
  lines.push("content-length", String(Buffer.byteLength(body)));
  outgoing.writeHead(status, lines);
  outgoing.end(body);
}
