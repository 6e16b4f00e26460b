/**
 * What one more process on the way costs on this machine, in two kinds: `tcp` copies bytes from socket to socket and knows
 * nothing, which is the least; `http` is node:http in front and undici's dispatcher behind, every piece written as it comes,
 * without events, money or slow clients. `SPILLWAY_PORT`, `RELAY_TARGET` and `RELAY_KIND` say where and which.
 */
import type { ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { Socket } from "node:net";
import { connect, createServer as createTcpServer } from "node:net";
import type { Dispatcher } from "undici";
import { Agent } from "undici";

const target = new URL(process.env.RELAY_TARGET ?? "");
const port = Number(process.env.SPILLWAY_PORT);
const agent = new Agent({ connections: 512, pipelining: 1, keepAliveTimeout: 30_000 });

function copy(down: Socket): void {
  const up = connect(Number(target.port), target.hostname);
  for (const [from, to] of [
    [down, up],
    [up, down],
  ] as const) {
    from.setNoDelay(true);
    from.on("data", (bytes: Buffer) => to.write(bytes));
    from.on("close", () => to.destroy());
    from.on("error", () => to.destroy());
  }
}

function passedTo(outgoing: ServerResponse): Dispatcher.DispatchHandler {
  return {
    onRequestStart: () => undefined,
    onResponseStart: (_controller, status, headers) => {
      outgoing.writeHead(status, { "content-type": headers["content-type"] ?? "application/json" });
    },
    onResponseData: (_controller, piece) => void outgoing.write(piece),
    onResponseEnd: () => void outgoing.end(),
    onResponseError: () => void outgoing.destroy(),
  };
}

const httpServer = createServer({ keepAliveTimeout: 65_000 }, (incoming, outgoing) => {
  const parts: Buffer[] = [];
  incoming.on("data", (part: Buffer) => parts.push(part));
  incoming.on("end", () => {
    const headers = ["content-type", "application/json", "authorization", incoming.headers.authorization ?? ""];
    const path = incoming.url ?? "/";
    agent.dispatch(
      { origin: target.origin, path, method: "POST", headers, body: Buffer.concat(parts) },
      passedTo(outgoing),
    );
  });
});

const server = process.env.RELAY_KIND === "tcp" ? createTcpServer(copy) : httpServer;
server.listen(port, "127.0.0.1", 1024);
process.on("SIGTERM", () => process.exit(0));
