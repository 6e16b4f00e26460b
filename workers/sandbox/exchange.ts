/** One call in progress, and the two things every answer does with it: book it, and send JSON. */
import { Buffer } from "node:buffer";
import type { ServerResponse } from "node:http";
import type { Bill } from "./bill";
import type { Fault, SandboxControl } from "./control";
import type { SandboxModel, TokenCounts } from "./prices";

export interface Exchange {
  readonly response: ServerResponse;
  readonly body: Readonly<Record<string, unknown>>;
  readonly control: SandboxControl;
  readonly bill: Bill;
  /** Unique part of the ids in the answer. */
  readonly callId: string;
  readonly receivedAtMs: number;
  readonly keyLabel: string;
  readonly requestTag: string | undefined;
}

/** What a call costs when it is answered whole. */
export interface Metered extends TokenCounts {
  readonly model: SandboxModel;
  readonly stream: boolean;
}

/** Faults after which the provider has nothing worth paying for; all others are billed. */
const UNBILLED_FAULTS: ReadonlySet<Fault> = new Set([
  "half_json",
  "close_socket",
  "wrong_gzip",
  "error_in_stream",
  "hang",
] as const);

/** Whether a call that ends as its control says is on the bill. */
export function isBilled(control: SandboxControl): boolean {
  if (control.billAnyway === true) return true;
  return control.status === undefined && (control.fault === undefined || !UNBILLED_FAULTS.has(control.fault));
}

/** Puts the call on the bill, if it is billed at all. */
export function book(exchange: Exchange, metered: Metered, aborted: boolean): void {
  if (!isBilled(exchange.control)) return;
  exchange.bill.add({
    receivedAtMs: exchange.receivedAtMs,
    requestTag: exchange.requestTag,
    key: exchange.keyLabel,
    model: metered.model,
    promptTokens: metered.promptTokens,
    cachedTokens: metered.cachedTokens,
    completionTokens: metered.completionTokens,
    aborted,
    stream: metered.stream,
  });
}

/** Runs `then` after the controlled latency, or `gone` if the client leaves first. */
export function afterLatency(exchange: Exchange, then: () => void, gone: () => void): void {
  const { latencyMs } = exchange.control;
  if (latencyMs === undefined || latencyMs === 0) {
    then();
    return;
  }
  const leave = () => {
    clearTimeout(timer);
    gone();
  };
  const timer = setTimeout(() => {
    exchange.response.off("close", leave);
    then();
  }, latencyMs);
  exchange.response.once("close", leave);
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: string,
  callId?: string,
  extraHeaders: readonly string[] = [],
): void {
  const headers = ["content-type", "application/json", "content-length", String(Buffer.byteLength(body))];
  if (callId !== undefined) headers.push("x-request-id", `req_${callId}`, "openai-version", "2020-10-01");
  headers.push(...extraHeaders);
  response.writeHead(status, headers);
  response.end(body);
}
