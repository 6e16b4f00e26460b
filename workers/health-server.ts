/** Health and metrics of the worker process. */
import { createServer } from "node:http";
import type { ServerResponse } from "node:http";
import type { WorkerServices } from "@/lib/wiring/worker";

const STALE_MS = 30_000;

export interface HealthServer {
  readonly port: number;
  close(): Promise<void>;
}

/** `GET /health` (200 or 503) and `GET /metrics`. Rejects where the port is taken. */
export async function startHealthServer(options: {
  readonly services: WorkerServices;
  readonly lastRoundMs: () => number;
  readonly host: string;
  readonly port: number;
}): Promise<HealthServer> {
  const server = createServer((request, response) => {
    const path = (request.url ?? "").split("?")[0];
    const answer =
      path === "/health"
        ? health(options, response)
        : path === "/metrics"
          ? metrics(options.services, response)
          : undefined;
    if (answer === undefined) response.writeHead(404).end();
    else answer.catch(() => response.writeHead(500).end());
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, options.host, resolve);
  });
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : options.port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function health(
  options: { readonly services: WorkerServices; readonly lastRoundMs: () => number },
  response: ServerResponse,
): Promise<void> {
  const { services } = options;
  const { postgres, redis, snapshot } = await services.ping();
  const isSettling = services.deps.clock.nowMs() - options.lastRoundMs() < STALE_MS;
  const isHealthy = postgres && redis && snapshot && isSettling;
  response.writeHead(isHealthy ? 200 : 503, { "content-type": "application/json" });
  const checks = { postgres, redis, snapshot, settlement: isSettling };
  response.end(JSON.stringify({ status: isHealthy ? "ok" : "degraded", ...checks }));
}

async function metrics(services: WorkerServices, response: ServerResponse): Promise<void> {
  const text = await services.metrics.registry.metrics();
  response.writeHead(200, { "content-type": services.metrics.registry.contentType });
  response.end(text);
}
