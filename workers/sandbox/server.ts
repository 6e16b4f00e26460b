/** The sandbox as an HTTP server: routes, authentication, request bodies. See README.md for the whole contract. */
import { createServer, type AddressInfo, type Socket } from "node:net";
import { authenticate } from "./auth";
import { Bill } from "./bill";
import type { Body } from "./body-fields";
import { serveBooks } from "./books";
import { Calls } from "./calls";
import { Connection } from "./connection";
import { ControlError, NO_CONTROL, readControl } from "./control";
import { errorBody, errorJson, refusalOf, RequestError } from "./errors";
import type { Exchange } from "./exchange";
import { isForm, readForm } from "./form";
import type { HttpRequest } from "./http-request";
import { findModel } from "./prices";
import type { Reply } from "./reply";
import { findRoute, type FoundRoute, type Route } from "./routes";
import { Shelves } from "./shelves";
import type { Vendor } from "./vendors";

export interface SandboxOptions {
  /** 0, the default, takes any free port. */
  readonly port?: number;
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Allows POST /bill/reset. */
  readonly allowReset?: boolean;
  /** Keeps the last requests for GET /calls. */
  readonly recordRequests?: boolean;
  /** Currency of the bill and of all prices, default USD. */
  readonly currency?: string;
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
  readonly shelves: Shelves;
  readonly allowReset: boolean;
  /** Sets ids of this run apart from those of other runs. */
  readonly runId: string;
  readonly sockets: Set<Socket>;
  callCount: number;
}

export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const host = options.host ?? "127.0.0.1";
  const state: State = {
    bill: new Bill(options.maxBillLines, options.currency),
    calls: new Calls(options.recordRequests === true),
    shelves: new Shelves(),
    allowReset: options.allowReset === true,
    runId: Date.now().toString(36),
    sockets: new Set(),
    callCount: 0,
  };
  const server = createServer((socket) => {
    state.sockets.add(socket);
    socket.once("close", () => state.sockets.delete(socket));
    new Connection(socket, (request, reply) => serve(state, request, reply));
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

function serve(state: State, request: HttpRequest, reply: Reply): void {
  const { target } = request;
  const queryStart = target.indexOf("?");
  const path = queryStart === -1 ? target : target.slice(0, queryStart);
  try {
    const found = findRoute(request.method, path);
    if (found === undefined) serveBooks(state, request, path, reply);
    else answerCall(state, request, reply, path, found);
  } catch (error) {
    refuse(reply, error, "openai", "0");
  }
}

/** An exchange whose body, control and vendor are not known until the request has been read. */
type OpenExchange = { -readonly [Field in keyof Exchange]: Exchange[Field] };

function answerCall(state: State, request: HttpRequest, reply: Reply, path: string, found: FoundRoute): void {
  const { route } = found;
  state.calls.count(route.template);
  state.callCount += 1;
  const exchange: OpenExchange = {
    body: NO_BODY,
    control: NO_CONTROL,
    callId: `${state.runId}${state.callCount.toString(36).padStart(6, "0")}`,
    receivedAtMs: Date.now(),
    vendor: route.vendor,
    reply,
    request,
    params: found.params,
    bill: state.bill,
    shelves: state.shelves,
    keyLabel: "",
    requestTag: request.headers.requestTag,
  };
  try {
    exchange.keyLabel = authenticate(request, route.vendor);
    state.calls.active += 1;
    reply.whenDone(() => (state.calls.active -= 1));
    state.calls.record(path, request);
    if (route.reads === "json_or_form" && isForm(request)) {
      readForm(request)
        .then((body) => handle(exchange, route, body))
        .catch((error: unknown) => refuse(reply, error, exchange.vendor, exchange.callId));
    } else {
      handle(exchange, route, route.reads === "nothing" ? NO_BODY : parseBody(request.body));
    }
  } catch (error) {
    refuse(reply, error, exchange.vendor, exchange.callId);
  }
}

function handle(exchange: OpenExchange, route: Route, body: Body): void {
  exchange.control = readControl(exchange.request.headers.control, body);
  exchange.vendor = exchange.control.vendor ?? vendorOf(route, body);
  exchange.body = route.vendor === "azure" ? withDeployment(exchange, route, body) : body;
  route.handle(exchange);
}

/** On Azure's older paths the deployment, here named like its model, stands in the path, and a version is a must. */
function withDeployment({ params, request }: Exchange, route: Route, body: Body): Body {
  if (!route.template.includes("{deployment}")) return body;
  if (!request.query().has("api-version")) throw new RequestError(404, "404", "Resource not found");
  return { ...body, model: params[0] };
}

/** The vendor of the path, or on OpenAI's own path that of the model. */
function vendorOf(route: Route, body: Body): Vendor {
  if (route.vendor !== "openai" || typeof body.model !== "string") return route.vendor;
  return findModel(body.model)?.vendor ?? "openai";
}

/** What a handler throws becomes an error answer in the vendor's shape. */
function refuse(reply: Reply, error: unknown, vendor: Vendor, callId: string): void {
  if (reply.hasBegun) {
    reply.drop();
  } else if (error instanceof RequestError) {
    reply.send(error.status, errorBody(vendor, refusalOf(error, vendor), callId));
  } else if (error instanceof ControlError) {
    reply.send(400, errorJson("invalid_request_error", "invalid_sandbox_control", error.message, "sandbox"));
  } else {
    reply.send(500, errorJson("server_error", "server_error", String(error), null));
  }
}

const NO_BODY: Body = {};

function parseBody(text: string): Body {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new RequestError(400, null, "We could not parse the JSON body of your request.");
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Body;
  throw new RequestError(400, null, "The JSON body of the request must be an object.");
}
