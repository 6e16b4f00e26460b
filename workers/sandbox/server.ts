/** The sandbox as an HTTP server: routes, authentication, request bodies. See README.md for the whole contract. */
import { Buffer } from "node:buffer";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { authenticate } from "./auth";
import { Bill } from "./bill";
import { Calls } from "./calls";
import { handleChat } from "./chat";
import { ControlError, readControl } from "./control";
import { handleEmbeddings } from "./embeddings";
import { errorJson, RequestError, unknownModel } from "./errors";
import { type Exchange, sendJson } from "./exchange";
import { MODELS } from "./prices";

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
  callCount: number;
  openConnections: number;
}

const MAX_BODY_BYTES = 32 * 1024 * 1024;
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
    callCount: 0,
    openConnections: 0,
  };
  // Idle connections outlive those of any client, so that a client never writes into a closing socket.
  const server = createServer({ keepAliveTimeout: 120_000 }, (request, response) => {
    guarded(response, () => route(state, request, response));
  });
  server.on("connection", (socket) => {
    state.openConnections += 1;
    socket.once("close", () => (state.openConnections -= 1));
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
        server.closeAllConnections();
      }),
  };
}

/** Runs a handler; what it throws becomes an error answer in OpenAI's shape. */
function guarded(response: ServerResponse, handle: () => void): void {
  try {
    handle();
  } catch (error) {
    if (response.headersSent) {
      response.destroy();
    } else if (error instanceof RequestError) {
      sendJson(response, error.status, errorJson(error.type, error.code, error.message, error.param));
    } else if (error instanceof ControlError) {
      sendJson(response, 400, errorJson("invalid_request_error", "invalid_sandbox_control", error.message, "sandbox"));
    } else {
      sendJson(response, 500, errorJson("server_error", "server_error", String(error), null));
    }
  }
}

function route(state: State, request: IncomingMessage, response: ServerResponse): void {
  const target = request.url ?? "/";
  const queryStart = target.indexOf("?");
  const path = queryStart === -1 ? target : target.slice(0, queryStart);
  const handle = INFERENCE.get(path);
  if (handle !== undefined) {
    state.calls.count(path);
    if (request.method !== "POST") throw methodNotAllowed(request, path);
    infer(state, request, response, path, handle);
  } else if (path === "/v1/models" || path.startsWith(MODEL_PREFIX)) {
    state.calls.count("/v1/models");
    authenticate(request.headers.authorization);
    sendModels(path, response);
  } else {
    serveBooks(state, request, response, path, new URLSearchParams(target.slice(path.length + 1)));
  }
}

function infer(
  state: State,
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
  handle: (exchange: Exchange) => void,
): void {
  const { headers } = request;
  const receivedAtMs = Date.now();
  const keyLabel = authenticate(headers.authorization);
  state.callCount += 1;
  const callId = `${state.runId}${state.callCount.toString(36).padStart(6, "0")}`;
  state.calls.active += 1;
  response.once("close", () => (state.calls.active -= 1));
  readBody(request, response, (text) => {
    state.calls.record({ method: "POST", path, headers, body: text });
    const body = parseBody(text);
    const control = readControl(oneHeader(headers["x-sandbox"]), body);
    const requestTag = oneHeader(headers["x-spillway-request"]);
    handle({ response, body, control, bill: state.bill, callId, receivedAtMs, keyLabel, requestTag });
  });
}

function readBody(request: IncomingMessage, response: ServerResponse, then: (text: string) => void): void {
  const pieces: Buffer[] = [];
  let bytes = 0;
  request.on("data", (piece: Buffer) => {
    bytes += piece.length;
    if (bytes <= MAX_BODY_BYTES) pieces.push(piece);
  });
  request.once("end", () => {
    guarded(response, () => {
      if (bytes > MAX_BODY_BYTES) throw new RequestError(413, null, "The request body is too large.");
      const [first] = pieces;
      then((pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces)).toString("utf8"));
    });
  });
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

function oneHeader(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(", ") : value;
}

function sendModels(path: string, response: ServerResponse): void {
  if (!path.startsWith(MODEL_PREFIX)) {
    sendJson(response, 200, MODEL_LIST_JSON);
    return;
  }
  const id = path.slice(MODEL_PREFIX.length);
  const model = MODEL_JSON.get(id);
  if (model === undefined) throw unknownModel(id);
  sendJson(response, 200, model);
}

function serveBooks(
  state: State,
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
  query: URLSearchParams,
): void {
  const resource = `${request.method ?? "GET"} ${path}`;
  if (resource === "GET /bill") {
    const limit = Math.min(queryInteger(query, "limit", DEFAULT_PAGE_LINES), MAX_PAGE_LINES);
    sendJson(response, 200, state.bill.page(queryInteger(query, "since", 0), limit));
  } else if (resource === "GET /bill/totals") {
    sendJson(response, 200, `{"currency":"USD","totals":${state.bill.totals()}}`);
  } else if (resource === "GET /calls") {
    sendJson(response, 200, state.calls.report(state.openConnections));
  } else if (resource === "GET /health") {
    sendJson(response, 200, `{"status":"ok"}`);
  } else if (resource === "POST /bill/reset" && state.allowReset) {
    state.bill.reset();
    state.calls.reset();
    sendJson(response, 200, `{"status":"reset"}`);
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

function methodNotAllowed(request: IncomingMessage, path: string): RequestError {
  return new RequestError(405, "method_not_supported", `Not allowed to ${request.method ?? ""} on ${path}.`);
}
