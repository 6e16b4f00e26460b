/** A provider that can go away: what connects to it is passed on to the sandbox while it is up, and refused or cut while it is not. */
import { connect, createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";

export class Relay {
  private server: Server | undefined;
  private readonly sockets = new Set<Socket>();
  private port = 0;

  constructor(private readonly target: string) {}

  get url(): string {
    return `http://127.0.0.1:${String(this.port)}`;
  }

  async start(): Promise<void> {
    const { hostname, port } = new URL(this.target);
    const server = createServer((down) => {
      const up = connect({ host: hostname, port: Number(port) });
      for (const [from, to] of [
        [down, up],
        [up, down],
      ] as const) {
        this.sockets.add(from);
        from.setNoDelay(true);
        from.on("error", () => to.destroy());
        from.on("close", () => {
          this.sockets.delete(from);
          to.destroy();
        });
        from.pipe(to);
      }
    });
    this.server = server;
    await new Promise<void>((resolve) => server.listen(this.port, "127.0.0.1", 1024, resolve));
    this.port = (server.address() as AddressInfo).port;
  }

  /** Cuts what is open and refuses what comes. */
  async stop(): Promise<void> {
    const { server } = this;
    this.server = undefined;
    if (!server) return;
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }
}
