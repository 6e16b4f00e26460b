/**
 * What one more process on the way costs on this machine: copies bytes from socket to socket and knows nothing, not even
 * HTTP, which is the least. `SPILLWAY_PORT` and `RELAY_TARGET` say where.
 */
import type { Socket } from "node:net";
import { connect, createServer } from "node:net";

const target = new URL(process.env.RELAY_TARGET ?? "");

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

createServer(copy).listen(Number(process.env.SPILLWAY_PORT), "127.0.0.1", 1024);
process.on("SIGTERM", () => process.exit(0));
