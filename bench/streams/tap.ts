/**
 * The provider as the bench sees it, a process of its own as a provider is: a relay in front of the sandbox through which
 * all ways lead, which notes what passed when. Streams that name a pace get it here: the sandbox writes such an answer at
 * once, so that it works on nothing while events are timed, and the events are let go one in each turn of the loop, so that
 * none waits for the write of another. `SPILLWAY_PORT` and `TAP_TARGET` say where; `GET /sent/<number>` tells of a stream.
 */
import type { Socket } from "node:net";
import { connect, createServer } from "node:net";
import { AnswerReader } from "./answer-reader";
import { sharedMs } from "./clock";
import type { Mark, SentStream, Side } from "./records";
import { markedIn, newSide, note } from "./records";

const { hostname, port } = new URL(process.env.TAP_TARGET ?? "");
const sent = new Map<number, Side>();

/** Connections with an event that is due. */
const due: Connection[] = [];

function letGo(): void {
  due.shift()?.writeNext();
  if (due.length > 0) setImmediate(letGo);
}

function isDue(connection: Connection): void {
  if (due.push(connection) === 1) setImmediate(letGo);
}

function chunkOf(event: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${event.length.toString(16)}\r\n`), event, Buffer.from("\r\n")]);
}

class Connection {
  private up: Socket | undefined;
  private mark: Mark | undefined;
  private side = newSide();
  private head = "";
  private body: Buffer[] = [];
  private events: Buffer[] = [];
  private readonly reader = new AnswerReader({
    head: ({ status, headers }) => {
      const lines = headers.slice(headers.indexOf("\r\n"));
      this.head = `HTTP/1.1 ${String(status)} Sent${lines}\r\n`;
    },
    body: (bytes, _isWhole, nowMs) => {
      if (this.isPaced) this.body.push(bytes);
      else note(this.side, bytes, nowMs);
    },
    end: () => {
      if (this.isPaced) this.pace(Buffer.concat(this.body));
    },
  });

  constructor(private readonly down: Socket) {
    down.setNoDelay(true);
    down.on("data", (bytes: Buffer) => this.ask(bytes));
    down.on("close", () => this.up?.destroy());
    down.on("error", () => this.up?.destroy());
  }

  private get isPaced(): boolean {
    return this.mark !== undefined && this.mark.paceMs > 0;
  }

  private ask(bytes: Buffer): void {
    if (bytes.toString("latin1", 0, 4) === "GET ") {
      this.tell(bytes);
      return;
    }
    const mark = markedIn(bytes);
    if (mark) {
      this.mark = mark;
      this.side = newSide();
      sent.set(mark.id, this.side);
    }
    this.up ??= this.connectUp();
    this.up.write(bytes);
  }

  private tell(request: Buffer): void {
    const id = Number(/^GET \/sent\/(\d+) /u.exec(request.toString("latin1"))?.[1] ?? "-1");
    const side = sent.get(id) ?? newSide();
    sent.delete(id);
    const told: SentStream = { endedAt: side.endedAt, bytes: Buffer.concat(side.parts).toString("base64") };
    const body = JSON.stringify(told);
    this.down.write(`HTTP/1.1 200 OK\r\ncontent-length: ${String(body.length)}\r\n\r\n${body}`);
  }

  private connectUp(): Socket {
    const up = connect(Number(port), hostname);
    up.setNoDelay(true);
    up.on("data", (bytes: Buffer) => {
      const nowMs = sharedMs();
      if (!this.isPaced) this.down.write(bytes);
      this.reader.push(bytes, nowMs);
    });
    up.on("close", () => this.down.destroy());
    up.on("error", () => this.down.destroy());
    return up;
  }

  private pace(body: Buffer): void {
    this.body = [];
    for (let start = 0; start < body.length;) {
      const end = body.indexOf("\n\n", start) + 2;
      this.events.push(body.subarray(start, end));
      start = end;
    }
    isDue(this);
  }

  /** The head comes with the first event, the end of the body after the last one's pace. */
  writeNext(): void {
    const event = this.events.shift();
    if (!event) {
      this.down.write("0\r\n\r\n");
      return;
    }
    const chunk = chunkOf(event);
    const bytes = this.head === "" ? chunk : Buffer.concat([Buffer.from(this.head), chunk]);
    this.head = "";
    note(this.side, event, sharedMs());
    this.down.write(bytes);
    setTimeout(isDue, this.mark?.paceMs ?? 0, this);
  }
}

createServer((down) => new Connection(down)).listen(Number(process.env.SPILLWAY_PORT), "127.0.0.1", 1024);
process.on("SIGTERM", () => process.exit(0));
