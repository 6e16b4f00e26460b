/** Answers a call with one JSON body, or with the failure that its control asks for. */
import type { Fault } from "./control";
import { controlledErrorJson } from "./errors";
import { afterLatency, book, type Exchange, type Metered, providerHeaders } from "./exchange";

/**
 * Sends `body` (status 200). The provider's work does not depend on the client's patience: a client that leaves before
 * a JSON answer pays for all of it, marked aborted.
 */
export function answerJson(exchange: Exchange, metered: Metered, body: string): void {
  const { control } = exchange;
  if (control.status === undefined && control.fault === undefined && control.latencyMs === undefined) {
    book(exchange, metered, false);
    exchange.reply.send(200, body, providerHeaders(exchange));
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
  const { control, reply } = exchange;
  if (control.status !== undefined) {
    book(exchange, metered, false);
    const retryAfter = control.retryAfter === undefined ? "" : `retry-after: ${control.retryAfter}\r\n`;
    reply.send(control.status, controlledErrorJson(control, control.status), providerHeaders(exchange) + retryAfter);
    return true;
  }
  if (control.fault === "close_socket") {
    book(exchange, metered, true);
    reply.drop();
    return true;
  }
  if (control.fault === "hang") {
    reply.whenGone(() => book(exchange, metered, true));
    return true;
  }
  return false;
}

function answerWithFault(exchange: Exchange, metered: Metered, body: string, fault: Fault | undefined): void {
  const { reply, control } = exchange;
  const isBroken = fault === "cut_stream" || fault === "half_json" || fault === "wrong_gzip";
  book(exchange, metered, isBroken);
  const headers = providerHeaders(exchange);
  if (fault === "half_json") reply.send(200, body.slice(0, Math.floor(body.length / 2)), headers);
  else if (fault === "wrong_gzip") reply.send(200, body, `${headers}content-encoding: gzip\r\n`);
  else if (fault === "error_in_stream") reply.send(200, controlledErrorJson(control, 500), headers);
  else if (fault === "cut_stream") reply.sendHalf(body);
  else reply.send(200, body, headers);
}
