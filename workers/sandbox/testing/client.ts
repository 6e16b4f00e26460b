/** What tests need to talk to a sandbox: call options of the official client, the bill, and raw sockets. */
import { connect } from "node:net";
import type { SandboxControl } from "../control-fields";
import type { Extras } from "../prices";
import type { Sandbox } from "../server";

export interface BillLine {
  readonly sequence: number;
  readonly requestTag: string | null;
  readonly key: string;
  readonly model: string;
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly completionTokens: number;
  readonly amountNanos: string;
  readonly aborted: boolean;
  readonly stream: boolean;
  readonly extras?: Extras;
}

/** Request options that mark a call and control it. */
export function tagged(tag: string, control: SandboxControl = {}): { headers: Record<string, string> } {
  return { headers: { "x-spillway-request": tag, "x-sandbox": JSON.stringify(control) } };
}

/** All bill lines with this tag, oldest first. */
export async function billLines(sandbox: Sandbox, tag: string): Promise<BillLine[]> {
  const bill = (await (await fetch(`${sandbox.url}/bill?limit=50000`)).json()) as { lines: BillLine[] };
  return bill.lines.filter((line) => line.requestTag === tag);
}

/** The one bill line with this tag, or undefined. Throws when the call was billed twice. */
export async function billLine(sandbox: Sandbox, tag: string): Promise<BillLine | undefined> {
  const lines = await billLines(sandbox, tag);
  if (lines.length > 1) throw new Error(`Billed ${lines.length} times: ${tag}`);
  return lines[0];
}

/** What came over the wire, and how it ended: the server closed in order, or the connection broke. */
export interface RawAnswer {
  readonly text: string;
  readonly ending: "closed" | "broken";
}

export interface RawCall {
  /** All bytes once the connection has ended. */
  readonly ended: Promise<RawAnswer>;
  /** Resolves with the text so far as soon as it contains `part`. */
  seen(part: string): Promise<string>;
  /** Stops reading, so that the sandbox feels back-pressure. */
  pause(): void;
  hangUp(): void;
}

/** Sends one chat request over a bare socket, so that faults can be seen as they are. */
export function rawChat(sandbox: Sandbox, tag: string, control: SandboxControl, body: object): RawCall {
  const text = JSON.stringify({ model: "sandbox-small", messages: [{ role: "user", content: "hi" }], ...body });
  const socket = connect(sandbox.port, "127.0.0.1");
  let received = "";
  let watchers: (() => void)[] = [];
  socket.setEncoding("utf8");
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: sandbox\r\nconnection: close\r\nauthorization: Bearer sandbox-raw-0001\r\n` +
      `x-spillway-request: ${tag}\r\nx-sandbox: ${JSON.stringify(control)}\r\n` +
      `content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  );
  socket.on("data", (piece: string) => {
    received += piece;
    for (const watcher of watchers) watcher();
  });
  const ended = new Promise<RawAnswer>((resolve) => {
    let ending: RawAnswer["ending"] = "closed";
    socket.on("error", () => (ending = "broken"));
    socket.on("close", () => resolve({ text: received, ending }));
  });
  return {
    ended,
    seen: (part) =>
      new Promise((resolve) => {
        const watch = () => {
          if (received.includes(part)) resolve(received);
        };
        watchers = [...watchers, watch];
        watch();
      }),
    pause: () => void socket.pause(),
    hangUp: () => socket.destroy(),
  };
}

/** The numbers and texts in a stream: joined content, data events, whether it ended with `[DONE]`. */
export function readEvents(raw: string): { content: string; events: string[]; isDone: boolean } {
  const events = [...raw.matchAll(/^data: (.*)$/gm)].map((match) => match[1] ?? "");
  const content = events.map((event) => /"delta":\{"content":"([^"]*)"/.exec(event)?.[1] ?? "").join("");
  return { content, events, isDone: events.at(-1) === "[DONE]" };
}
