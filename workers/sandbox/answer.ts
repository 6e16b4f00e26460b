/** Answers a call with one body, or with the failure that its control asks for. */
import { Buffer } from "node:buffer";
import type { SandboxControl } from "./control-fields";
import { askedFailure, errorBody, retryHeaders } from "./errors";
import { afterDelay, afterLatency, book, type Exchange, type Metered, providerHeaders } from "./exchange";

const JSON_TYPE = "application/json";
const DEFAULT_REDIRECT_STATUS = 307;

/**
 * Sends `body` (status 200). The provider's work does not depend on the client's patience: a client that leaves before
 * a JSON answer pays for all of it, marked aborted.
 */
export function answerJson(exchange: Exchange, metered: Metered | undefined, body: string): void {
  if (isUndisturbed(exchange.control)) {
    book(exchange, metered, false);
    exchange.reply.send(200, body, providerHeaders(exchange));
    return;
  }
  answerDisturbed(exchange, metered, Buffer.from(body), JSON_TYPE);
}

/** As `answerJson`, for audio, subtitles and files. */
export function answerBytes(exchange: Exchange, metered: Metered | undefined, body: Buffer, contentType: string): void {
  if (!isUndisturbed(exchange.control)) {
    answerDisturbed(exchange, metered, body, contentType);
    return;
  }
  book(exchange, metered, false);
  exchange.reply.sendBytes(contentType, body, providerHeaders(exchange));
}

/** Whether nothing is asked for that changes how a finished body is sent. */
function isUndisturbed(control: SandboxControl): boolean {
  return (
    control.status === undefined &&
    control.error === undefined &&
    control.redirect === undefined &&
    control.fault === undefined &&
    control.latencyMs === undefined &&
    control.bodyDelayMs === undefined &&
    control.cutAfterBytes === undefined &&
    control.splitAt === undefined &&
    control.keepAlives === undefined &&
    control.padBytes === undefined
  );
}

function answerDisturbed(exchange: Exchange, metered: Metered | undefined, body: Buffer, contentType: string): void {
  afterLatency(
    exchange,
    () => {
      if (!failInstead(exchange, metered)) sendDisturbed(exchange, metered, body, contentType);
    },
    () => book(exchange, metered, true),
  );
}

/**
 * The failures that precede any answer, for JSON and streams alike: an error status, a redirect, a closed socket,
 * silence. Returns false when the control asks for none of them.
 */
export function failInstead(exchange: Exchange, metered: Metered | undefined): boolean {
  const { control, reply, vendor } = exchange;
  const failsAtOnce = control.error !== undefined && control.fault !== "error_in_stream";
  if (control.status !== undefined || failsAtOnce) {
    book(exchange, metered, false);
    const failure = askedFailure(control, vendor);
    const headers = providerHeaders(exchange) + retryHeaders(failure, control);
    reply.send(failure.status, errorBody(vendor, failure, exchange.callId), headers);
    return true;
  }
  if (control.redirect !== undefined) {
    book(exchange, metered, false);
    reply.redirect(control.redirectStatus ?? DEFAULT_REDIRECT_STATUS, control.redirect, providerHeaders(exchange));
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

function sendDisturbed(exchange: Exchange, metered: Metered | undefined, body: Buffer, contentType: string): void {
  const { reply, control, vendor } = exchange;
  const { fault } = control;
  const headers = providerHeaders(exchange);
  const whole = disturbedBody(exchange, body, contentType);
  const cutAt = control.cutAfterBytes ?? (fault === "cut_stream" ? Math.floor(whole.length / 2) : Infinity);
  const isBroken = cutAt < whole.length || fault === "half_json" || fault === "wrong_gzip";
  if (cutAt < whole.length) {
    book(exchange, metered, isBroken);
    reply.sendPart(contentType, whole, cutAt, headers);
  } else if (fault === "error_in_stream") {
    book(exchange, metered, isBroken);
    reply.send(200, errorBody(vendor, askedFailure(control, vendor), exchange.callId), headers);
  } else if (control.splitAt === undefined && control.bodyDelayMs === undefined) {
    book(exchange, metered, isBroken);
    reply.sendBytes(contentType, whole, fault === "wrong_gzip" ? `${headers}content-encoding: gzip\r\n` : headers);
  } else {
    reply.start(`content-type: ${contentType}\r\n${headers}`);
    reply.writeHead();
    const finish = () => {
      book(exchange, metered, isBroken);
      if (control.splitAt === undefined) reply.writeBytes(whole);
      else reply.writePaced(whole, control.splitAt);
      reply.end("");
    };
    afterDelay(reply, control.bodyDelayMs, finish, () => book(exchange, metered, true));
  }
}

/** The body with what the control adds to it or takes from it. */
function disturbedBody({ control }: Exchange, body: Buffer, contentType: string): Buffer {
  const parts: Buffer[] = [];
  if (control.keepAlives !== undefined) parts.push(Buffer.alloc(control.keepAlives, "\n"));
  if (control.padBytes !== undefined && contentType === JSON_TYPE) {
    parts.push(Buffer.from(`{"padding":"${"x".repeat(control.padBytes)}",`), body.subarray(1));
  } else {
    parts.push(body);
  }
  const whole = parts.length === 1 ? body : Buffer.concat(parts);
  return control.fault === "half_json" ? whole.subarray(0, Math.floor(whole.length / 2)) : whole;
}
