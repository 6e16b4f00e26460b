/** Runs deferred calls through a gateway of the worker's own, made when the first one is due. */
import { setTimeout as sleep } from "node:timers/promises";
import type { DeferredRunOrder, DeferredRunResult } from "@/lib/control/deferred-calls";
import type { DeferredRequest } from "@/lib/domain/deferred-call";
import type { GatewayRequest } from "@/lib/gateway/http";
import { toWebResponse } from "@/lib/gateway/http";
import type { DeferredRun } from "@/lib/gateway/stages/defer";
import type { GatewaySettings, RunningGateway } from "./gateway";
import { buildGateway } from "./gateway";

export interface DeferredRunner {
  readonly run: (order: DeferredRunOrder) => Promise<DeferredRunResult>;
  close(): Promise<void>;
}

function gatewayRequest({ method, url, headers, body }: DeferredRequest): GatewayRequest {
  const bytes = new TextEncoder().encode(body);
  return {
    method,
    url,
    headers: { get: (name) => headers[name] ?? null },
    bytes: (maxBytes) => Promise.resolve(bytes.length > maxBytes ? "too_large" : bytes),
    chunks: async function* () {
      yield bytes;
    },
    // Nobody waits at the other end who could leave.
    signal: new AbortController().signal,
  };
}

/** A gateway that was just made would refuse its first calls; one whose store is away refuses after this. */
const CONNECT_MS = 2_000;

async function connected({ connection }: RunningGateway): Promise<void> {
  if (connection.runId() !== undefined) return;
  const isKnown = new Promise<void>((resolve) => {
    connection.onRunId(() => {
      resolve();
    });
  });
  await Promise.race([isKnown, sleep(CONNECT_MS, undefined, { ref: false })]);
}

export function createDeferredRunner(settings: GatewaySettings): DeferredRunner {
  let gateway: RunningGateway | undefined;
  return {
    run: async ({ request, beforeSend, ...call }) => {
      gateway ??= buildGateway(settings);
      await connected(gateway);
      const ends: Promise<unknown>[] = [];
      let mayBeServed = false;
      const run: DeferredRun = {
        ...call,
        beforeSend: async () => (mayBeServed = await beforeSend()),
        unserved: () => {
          mayBeServed = false;
        },
      };
      const context = { waitUntil: (end: Promise<unknown>) => void ends.push(end), run };
      const answer = await gateway.core(gatewayRequest(request), context);
      const body = await toWebResponse(answer).text();
      await Promise.allSettled(ends);
      return {
        mayBeServed,
        answer: {
          status: answer.status,
          contentType: answer.headers["content-type"] ?? "application/json",
          requestId: answer.headers["x-request-id"] ?? null,
          cost: answer.headers["x-spillway-cost"] ?? null,
          body,
        },
      };
    },
    close: async () => {
      await gateway?.close();
    },
  };
}
