/** What of a stream reaches a connection: frames of its own, the pace of a slow client, clients of HTTP/1.0, calls sent together. */
import type { Server } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { connect } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import type { ByteSink, ByteStream } from "@/lib/gateway/byte-stream";
import { sendAnswer } from "./node-request";

/** Stands in no head and no frame. */
const LETTER_Z = 122;

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

/** Writes its pieces while there is room, one in each turn of the loop. */
class Pieces implements ByteStream {
  written = 0;
  isCancelled = false;
  private sink: ByteSink | undefined;
  private isRunning = false;

  constructor(private readonly pieces: readonly string[]) {}

  start(sink: ByteSink): void {
    this.sink = sink;
    this.resume();
  }

  resume(): void {
    if (!this.isRunning) setImmediate(this.next);
    this.isRunning = true;
  }

  cancel(): void {
    this.isCancelled = true;
  }

  private readonly next = (): void => {
    const piece = this.pieces[this.written];
    this.isRunning = false;
    if (this.isCancelled || !this.sink) return;
    if (piece === undefined) {
      this.sink.end();
      return;
    }
    this.written += 1;
    if (this.sink.write(Buffer.from(piece))) this.resume();
  };
}

async function serve(...streams: readonly ByteStream[]): Promise<Socket> {
  const waiting = [...streams];
  const server = createServer((incoming, outgoing) => {
    const body = waiting.shift();
    if (body) sendAnswer({ status: 200, headers: { "content-type": "text/event-stream" }, body }, incoming, outgoing);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return connect((server.address() as AddressInfo).port, "127.0.0.1");
}

async function readUntil(socket: Socket, isEnough: (text: string) => boolean): Promise<string> {
  let text = "";
  for await (const bytes of socket) {
    text += String(bytes);
    if (isEnough(text)) break;
  }
  return text;
}

const bodyOf = (answer: string): string => answer.slice(answer.indexOf("\r\n\r\n") + 4);

describe("a stream on a connection", () => {
  it("comes as one transfer chunk for each piece", async () => {
    const socket = await serve(new Pieces(["data: a\n\n", "data: 水\n\n"]));
    socket.write("GET / HTTP/1.1\r\nhost: h\r\n\r\n");
    const answer = await readUntil(socket, (text) => text.endsWith("0\r\n\r\n"));
    expect(bodyOf(answer)).toBe("9\r\ndata: a\n\n\r\nb\r\ndata: 水\n\n\r\n0\r\n\r\n");
  });

  it("comes without frames to a client of HTTP/1.0", async () => {
    const socket = await serve(new Pieces(["data: a\n\n", "data: b\n\n"]));
    socket.write("GET / HTTP/1.0\r\n\r\n");
    expect(bodyOf(await readUntil(socket, () => false))).toBe("data: a\n\ndata: b\n\n");
  });

  it("comes after the one before it where calls are sent together", async () => {
    const socket = await serve(new Pieces(["first"]), new Pieces(["second"]));
    socket.write("GET /1 HTTP/1.1\r\nhost: h\r\n\r\nGET /2 HTTP/1.1\r\nhost: h\r\n\r\n");
    const both = await readUntil(socket, (text) => text.split("0\r\n\r\n").length === 3);
    expect(both.match(/first|second|0\r\n\r\n/gu)).toEqual(["first", "0\r\n\r\n", "second", "0\r\n\r\n"]);
  });

  it("waits for a client that does not read, and goes on when it does", async () => {
    const pieces = Array.from({ length: 400 }, () => "z".repeat(64 * 1024));
    const stream = new Pieces(pieces);
    const socket = await serve(stream);
    socket.pause();
    socket.write("GET / HTTP/1.1\r\nhost: h\r\n\r\n");
    let seen = -1;
    // What the kernel takes is bounded: at some time nothing more is written.
    await expect
      .poll(() => (stream.written > 0 && stream.written === seen ? true : ((seen = stream.written), false)), {
        interval: 100,
        timeout: 5_000,
      })
      .toBe(true);
    expect(stream.written).toBeLessThan(pieces.length);
    let bytes = 0;
    for await (const part of socket as AsyncIterable<Buffer>) {
      bytes += part.reduce((sum, byte) => sum + (byte === LETTER_Z ? 1 : 0), 0);
      if (part.toString("latin1").endsWith("0\r\n\r\n")) break;
    }
    expect(bytes).toBe(400 * 64 * 1024);
  });

  it("is cancelled where its client leaves", async () => {
    const stream = new Pieces(Array.from({ length: 1_000_000 }, () => "data: a\n\n"));
    const socket = await serve(stream);
    socket.write("GET / HTTP/1.1\r\nhost: h\r\n\r\n");
    await readUntil(socket, (text) => text.includes("data: a"));
    socket.destroy();
    await expect.poll(() => stream.isCancelled).toBe(true);
  });
});
