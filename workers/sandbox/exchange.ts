/** One call in progress, and what every kind of answer does with it. */
import type { Bill } from "./bill";
import type { Fault, SandboxControl } from "./control";
import type { SandboxModel, TokenCounts } from "./prices";
import type { HeaderLines, Reply } from "./reply";

export interface Exchange {
  readonly reply: Reply;
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
  const timer = setTimeout(() => {
    exchange.reply.whenGone(undefined);
    then();
  }, latencyMs);
  exchange.reply.whenGone(() => {
    clearTimeout(timer);
    gone();
  });
}

/** The headers that OpenAI puts on every answer of a model. */
export function providerHeaders(exchange: Exchange): HeaderLines {
  return `x-request-id: req_${exchange.callId}\r\nopenai-version: 2020-10-01\r\n`;
}
