/**
 * The lean host: one node:http server that answers the gateway's paths itself and hands every other request to a
 * fallback (Next), if there is one. On SIGTERM it stops taking calls, lets running ones end and their books be written.
 */
import { createServer } from "node:http";
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { routeOf } from "@/lib/gateway/handler";
import type { RunningGateway } from "@/lib/wiring/gateway";
import { answerGatewayHealth, GATEWAY_HEALTH_PATH } from "./gateway-health";
import { gatewayRequestOf, sendAnswer } from "./node-request";

export interface Fallback {
  readonly request: (request: IncomingMessage, response: ServerResponse) => unknown;
  readonly upgrade?: (request: IncomingMessage, socket: Duplex, head: Buffer) => unknown;
}

export interface LeanHostOptions {
  readonly gateway: RunningGateway;
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  readonly fallback?: Fallback;
}

export interface LeanHost {
  readonly url: string;
  readonly port: number;
  /** Stops listening, waits for running calls up to `graceMs`, then for their settlements. */
  close(graceMs?: number): Promise<void>;
}

const DEFAULT_GRACE_MS = 25_000;

function notFound(_request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(404, { "content-type": "application/json" });
  response.end(
    '{"error":{"message":"There is no such page.","type":"invalid_request_error","param":null,"code":"not_found"}}',
  );
}

/**
 * Counts what is under way. No set of the things themselves: the tables of one that changes with every call outlive its
 * entries in the collector's eyes, and every call of a second stays in memory with them.
 */
class UnderWay {
  private count = 0;
  private whenNone: (() => void)[] = [];
  readonly begin = (): void => {
    this.count += 1;
  };
  readonly end = (): void => {
    this.count -= 1;
    if (this.count > 0) return;
    for (const resolve of this.whenNone.splice(0)) resolve();
  };

  get isNone(): boolean {
    return this.count === 0;
  }

  none(): Promise<void> {
    return new Promise((resolve) => {
      if (this.isNone) resolve();
      else this.whenNone.push(resolve);
    });
  }
}

/** Node joins repeated ones. */
function forwardedForOf(headers: IncomingHttpHeaders): string | undefined {
  return headers["x-forwarded-for"]?.toString();
}

function gatewayListener(gateway: RunningGateway, pending: UnderWay) {
  const waitUntil = (promise: Promise<unknown>): void => {
    pending.begin();
    promise.then(pending.end, pending.end);
  };
  return (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    const { socket, headers } = incoming;
    const clientAddress = gateway.clientAddress(socket.remoteAddress, forwardedForOf(headers));
    const context = { waitUntil, clientAddress };
    gateway
      .core(gatewayRequestOf(incoming, outgoing), context)
      .then((answer) => sendAnswer(answer, incoming, outgoing))
      // The core answers whatever happens; what fails here is the connection itself.
      .catch(() => {
        outgoing.destroy();
      });
  };
}

/** Next sees no connection: it is told who called by the only hop. */
function nameCaller(request: IncomingMessage, gateway: RunningGateway): void {
  const { socket, headers } = request;
  headers["x-forwarded-for"] = gateway.clientAddress(socket.remoteAddress, forwardedForOf(headers)) ?? "unknown";
}

function isGatewayPath(url: string | undefined): boolean {
  return url !== undefined && routeOf(url) !== undefined;
}

/** Next behind us answers for the whole web process. */
function isHealthPath(url: string | undefined, fallback: Fallback | undefined): boolean {
  const path = url?.split("?")[0];
  return path === GATEWAY_HEALTH_PATH || (fallback === undefined && path === "/api/health");
}

async function listen(server: Server, host: string, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : port;
}

function within(work: Promise<unknown>, ms: number): Promise<unknown> {
  return Promise.race([
    work,
    new Promise((resolve) => {
      setTimeout(resolve, ms).unref();
    }),
  ]);
}

/** Throws what listening throws (EADDRINUSE, EACCES). */
export async function startLeanHost(options: LeanHostOptions): Promise<LeanHost> {
  const pending = new UnderWay();
  const gatewayRequest = gatewayListener(options.gateway, pending);
  const fallback = options.fallback?.request ?? notFound;
  const answering = new UnderWay();
  const server = createServer({ keepAliveTimeout: 65_000 }, (request, response) => {
    answering.begin();
    response.on("close", answering.end);
    if (isGatewayPath(request.url)) gatewayRequest(request, response);
    else if (isHealthPath(request.url, options.fallback))
      void answerGatewayHealth(options.gateway.connection, response);
    else {
      nameCaller(request, options.gateway);
      fallback(request, response);
    }
  });
  const { fallback: behind } = options;
  if (behind?.upgrade) server.on("upgrade", behind.upgrade);
  const port = await listen(server, options.host, options.port);
  return {
    port,
    url: `http://${options.host.includes(":") ? `[${options.host}]` : options.host}:${String(port)}`,
    close: async (graceMs = DEFAULT_GRACE_MS) => {
      const closed = new Promise((resolve) => {
        server.close(resolve);
      });
      // Clients keep connections open for minutes, and browsers open some before they have anything to ask: once no
      // answer is under way, none of them is worth waiting for.
      const sweeping = setInterval(() => {
        if (answering.isNone) server.closeAllConnections();
        else server.closeIdleConnections();
      }, 50);
      await within(closed, graceMs);
      clearInterval(sweeping);
      server.closeAllConnections();
      await within(pending.none(), graceMs);
      await options.gateway.close();
    },
  };
}
