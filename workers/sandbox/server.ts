/** The sandbox as an HTTP server: routes, authentication, request bodies. See README.md for the whole contract. */
import { createServer, type AddressInfo, type Socket } from "node:net";
import { authenticate } from "./auth";
import { Bill } from "./bill";
import { Calls } from "./calls";
import { handleChat } from "./chat";
import { Connection } from "./connection";
import { ControlError, readControl } from "./control";
import { handleEmbeddings } from "./embeddings";
import { errorJson, RequestError, unknownModel } from "./errors";
import type { Exchange } from "./exchange";
import type { HttpRequest } from "./http-request";
import { MODELS } from "./prices";
import type { Reply } from "./reply";

export interface SandboxOptions {
  /** 0, the default, takes any free port. */
  readonly port?: number;
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Allows POST /bill/reset. */
  readonly allowReset?: boolean;
  /** Keeps the last requests for GET /calls. */
  readonly recordRequests?: boolean;
  /** Bill lines kept in memory, default 2,000,000; totals always cover all. */
  readonly maxBillLines?: number;
}

export interface Sandbox {
  readonly url: string;
  readonly port: number;
  /** Stops listening and cuts every open connection. */
  close(): Promise<void>;
}

interface State {
  readonly bill: Bill;
  readonly calls: Calls;
  readonly allowReset: boolean;
  /** Sets ids of this run apart from those of other runs. */
  readonly runId: string;
  readonly sockets: Set<Socket>;
  callCount: number;
}

const DEFAULT_PAGE_LINES = 10_000;
const MAX_PAGE_LINES = 50_000;
const INFERENCE = new Map<string, (exchange: Exchange) => void>([
  ["/v1/chat/completions", handleChat],
  ["/v1/embeddings", handleEmbeddings],
]);
const MODEL_PREFIX = "/v1/models/";
const MODEL_JSON = new Map(
  MODELS.map(({ id }) => [id, JSON.stringify({ id, object: "model", created: 1_767_225_600, owned_by: "sandbox" })]),
);
const MODEL_LIST_JSON = `{"object":"list","data":[${[...MODEL_JSON.values()].join(",")}]}`;

export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const host = options.host ?? "127.0.0.1";
  const state: State = {
    bill: new Bill(options.maxBillLines),
    calls: new Calls(options.recordRequests === true),
    allowReset: options.allowReset === true,
    runId: Date.now().toString(36),
    sockets: new Set(),
    callCount: 0,
  };
  const server = createServer((socket) => {
    state.sockets.add(socket);
    socket.once("close", () => state.sockets.delete(socket));
    new Connection(socket, (request, reply) => guarded(reply, () => route(state, request, reply)));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port ?? 0, host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${port}`,
    port,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const socket of state.sockets) socket.destroy();
      }),
  };
}

/** Runs a handler; what it throws becomes an error answer in OpenAI's shape. */
function guarded(reply: Reply, handle: () => void): void {
  try {
    handle();
  } catch (error) {
    if (reply.hasBegun) {
      reply.drop();
    } else if (error instanceof RequestError) {
      reply.send(error.status, errorJson(error.type, error.code, error.message, error.param));
    } else if (error instanceof ControlError) {
      reply.send(400, errorJson("invalid_request_error", "invalid_sandbox_control", error.message, "sandbox"));
    } else {
      reply.send(500, errorJson("server_error", "server_error", String(error), null));
    }
  }
}

function route(state: State, request: HttpRequest, reply: Reply): void {
  const { target } = request;
  const queryStart = target.indexOf("?");
  const path = queryStart === -1 ? target : target.slice(0, queryStart);
  const handle = INFERENCE.get(path);
  if (handle !== undefined) {
    state.calls.count(path);
    if (request.method !== "POST") {
      throw new RequestError(405, "method_not_supported", `Not allowed to ${request.method} on ${path}.`);
    }
    infer(state, request, reply, path, handle);
  } else if (path === "/v1/models" || path.startsWith(MODEL_PREFIX)) {
    state.calls.count("/v1/models");
    authenticate(request.headers.authorization);
    sendModels(path, reply);
  } else {
    serveBooks(state, `${request.method} ${path}`, new URLSearchParams(target.slice(path.length + 1)), reply);
  }
}

function infer(
  state: State,
  request: HttpRequest,
  reply: Reply,
  path: string,
  handle: (exchange: Exchange) => void,
): void {
  const { headers } = request;
  const receivedAtMs = Date.now();
  const keyLabel = authenticate(headers.authorization);
  state.callCount += 1;
  const callId = `${state.runId}${state.callCount.toString(36).padStart(6, "0")}`;
  state.calls.active += 1;
  reply.whenDone(() => (state.calls.active -= 1));
  state.calls.record(path, request);
  const body = parseBody(request.body);
  const control = readControl(headers.control, body);
  const { requestTag } = headers;
  handle({ reply, body, control, bill: state.bill, callId, receivedAtMs, keyLabel, requestTag });
}

function parseBody(text: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new RequestError(400, null, "We could not parse the JSON body of your request.");
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new RequestError(400, null, "The JSON body of the request must be an object.");
}

function sendModels(path: string, reply: Reply): void {
  if (!path.startsWith(MODEL_PREFIX)) {
    reply.send(200, MODEL_LIST_JSON);
    return;
  }
  const id = path.slice(MODEL_PREFIX.length);
  const model = MODEL_JSON.get(id);
  if (model === undefined) throw unknownModel(id);
  reply.send(200, model);
}

function serveBooks(state: State, resource: string, query: URLSearchParams, reply: Reply): void {
  if (resource === "GET /bill") {
    const limit = Math.min(queryInteger(query, "limit", DEFAULT_PAGE_LINES), MAX_PAGE_LINES);
    reply.send(200, state.bill.page(queryInteger(query, "since", 0), limit));
  } else if (resource === "GET /bill/totals") {
    reply.send(200, `{"currency":"USD","totals":${state.bill.totals()}}`);
  } else if (resource === "GET /calls") {
    reply.send(200, state.calls.report(state.sockets.size));
  } else if (resource === "GET /health") {
    reply.send(200, `{"status":"ok"}`);
  } else if (resource === "POST /bill/reset" && state.allowReset) {
    state.bill.reset();
    state.calls.reset();
    reply.send(200, `{"status":"reset"}`);
  } else {
    state.calls.count("other");
    throw new RequestError(404, null, `Invalid URL (${resource})`);
  }
}

function queryInteger(query: URLSearchParams, name: string, fallback: number): number {
  const text = query.get(name);
  if (text === null) return fallback;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new RequestError(400, "invalid_value", `'${name}' must be a whole number.`, name);
}
