/** Answers a call with one JSON body, or with the failure that its control asks for. */
import { Buffer } from "node:buffer";
import type { Fault } from "./control";
import { controlledErrorJson } from "./errors";
import { afterLatency, book, type Exchange, type Metered, sendJson } from "./exchange";

/**
 * Sends `body` (status 200). The provider's work does not depend on the client's patience: a client that leaves before
 * a JSON answer pays for all of it, marked aborted.
 */
export function answerJson(exchange: Exchange, metered: Metered, body: string): void {
  const { control } = exchange;
  if (control.status === undefined && control.fault === undefined && control.latencyMs === undefined) {
    book(exchange, metered, false);
    sendJson(exchange.response, 200, body, exchange.callId);
    return;
  }
  afterLatency(
    exchange,
    () => {
      if (failInstead(exchange, metered)) return;
      answerWithFault(exchange, metered, body, control.fault);
    },
    () => book(exchange, metered, true),
  );
}

/**
 * The failures that precede any answer, for JSON and streams alike: an error status, a closed socket, silence.
 * Returns false when the control asks for none of them.
 */
export function failInstead(exchange: Exchange, metered: Metered): boolean {
  const { control, response } = exchange;
  if (control.status !== undefined) {
    book(exchange, metered, false);
    const retryAfter = control.retryAfter === undefined ? [] : ["retry-after", String(control.retryAfter)];
    sendJson(response, control.status, controlledErrorJson(control, control.status), exchange.callId, retryAfter);
    return true;
  }
  if (control.fault === "close_socket") {
    book(exchange, metered, true);
    response.socket?.destroy();
    return true;
  }
  if (control.fault === "hang") {
    response.once("close", () => book(exchange, metered, true));
    return true;
  }
  return false;
}

function answerWithFault(exchange: Exchange, metered: Metered, body: string, fault: Fault | undefined): void {
  const { response, control } = exchange;
  const isBroken = fault === "cut_stream" || fault === "half_json" || fault === "wrong_gzip";
  book(exchange, metered, isBroken);
  const half = body.slice(0, Math.floor(body.length / 2));
  if (fault === "half_json") {
    sendJson(response, 200, half, exchange.callId);
  } else if (fault === "wrong_gzip") {
    sendJson(response, 200, body, exchange.callId, ["content-encoding", "gzip"]);
  } else if (fault === "error_in_stream") {
    sendJson(response, 200, controlledErrorJson(control, 500), exchange.callId);
  } else if (fault === "cut_stream") {
    response.writeHead(200, ["content-type", "application/json", "content-length", String(Buffer.byteLength(body))]);
    response.write(half, () => response.socket?.destroy());
  } else {
    sendJson(response, 200, body, exchange.callId);
  }
}
