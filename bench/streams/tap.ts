/**
 * A relay in front of the sandbox, in the process of the client and so on its clock: it passes every byte on at once and
 * notes what passed when. Both ways lead through it, the direct one too, so what it costs is no difference between them.
 */
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { AnswerReader } from "./answer-reader";
import type { Records, StreamRecord } from "./records";
import { markedIn, note } from "./records";

export interface Tap {
  readonly url: string;
  readonly port: number;
  close(): Promise<void>;
}

function relay(down: Socket, target: { readonly host: string; readonly port: number }, records: Records): Socket {
  const up = connect(target);
  up.setNoDelay(true);
  down.setNoDelay(true);
  let current: StreamRecord | undefined;
  const reader = new AnswerReader({
    head: () => undefined,
    body: (bytes, _isWhole, nowMs) => {
      if (current) note(current.sent, bytes, nowMs);
    },
    end: () => undefined,
  });
  down.on("data", (bytes: Buffer) => {
    const id = markedIn(bytes);
    if (id !== undefined) current = records.find(id);
    up.write(bytes);
  });
  up.on("data", (bytes: Buffer) => {
    const nowMs = performance.now();
    down.write(bytes);
    reader.push(bytes, nowMs);
  });
  for (const [from, to] of [
    [down, up],
    [up, down],
  ] as const) {
    from.on("close", () => to.destroy());
    from.on("error", () => to.destroy());
  }
  return up;
}

/** `sandboxUrl` is an origin. */
export async function startTap(sandboxUrl: string, records: Records): Promise<Tap> {
  const { hostname, port } = new URL(sandboxUrl);
  const sockets = new Set<Socket>();
  const server = createServer((down) => {
    for (const socket of [down, relay(down, { host: hostname, port: Number(port) }, records)]) {
      sockets.add(socket);
      socket.on("close", () => sockets.delete(socket));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", 1024, resolve));
  const own = (server.address() as AddressInfo).port;
  return {
    url: `http://127.0.0.1:${String(own)}`,
    port: own,
    close: () => {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
