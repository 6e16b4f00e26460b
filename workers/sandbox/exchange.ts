/** One call in progress, and what every kind of answer does with it. */
import type { Bill } from "./bill";
import type { Fault, SandboxControl } from "./control-fields";
import type { HttpRequest } from "./http-request";
import type { Extras, SandboxModel, TokenCounts } from "./prices";
import type { HeaderLines, Reply } from "./reply";
import type { Shelves } from "./shelves";
import type { Vendor } from "./vendors";

/** What a call asks, however it came. */
export interface Call {
  readonly body: Readonly<Record<string, unknown>>;
  readonly control: SandboxControl;
  /** Unique part of the ids in the answer. */
  readonly callId: string;
  readonly receivedAtMs: number;
  /** Whose wire format the answer has. */
  readonly vendor: Vendor;
}

export interface Exchange extends Call {
  readonly reply: Reply;
  readonly request: HttpRequest;
  /** Variable parts of the path, in order. */
  readonly params: readonly string[];
  readonly bill: Bill;
  readonly shelves: Shelves;
  readonly keyLabel: string;
  readonly requestTag: string | undefined;
}

/** What a call costs when it is answered whole. */
export interface Metered extends TokenCounts {
  readonly model: SandboxModel;
  readonly stream: boolean;
  readonly extras?: Extras | undefined;
}

/** The call as far as it came: with so many completion tokens, and no more of any kind of them. */
export function cutShort(metered: Metered, completionTokens: number): Metered {
  const { extras } = metered;
  if (extras === undefined || completionTokens >= metered.completionTokens) return { ...metered, completionTokens };
  const parts = ["reasoningTokens", "audioOutputTokens", "imageOutputTokens"] as const;
  const cut = parts.flatMap((part) => {
    const count = extras[part];
    return count === undefined ? [] : [[part, Math.min(count, completionTokens)] as const];
  });
  return { ...metered, completionTokens, extras: { ...extras, ...Object.fromEntries(cut) } };
}

/** Faults after which the provider has nothing worth paying for; all others are billed. */
const UNBILLED_FAULTS: ReadonlySet<Fault> = new Set([
  "half_json",
  "close_socket",
  "wrong_gzip",
  "error_in_stream",
  "failed_response",
  "hang",
] as const);

/** Whether a call that ends as its control says is on the bill. */
export function isBilled(control: SandboxControl): boolean {
  if (control.billAnyway === true) return true;
  if (control.status !== undefined || control.error !== undefined || control.redirect !== undefined) return false;
  return control.fault === undefined || !UNBILLED_FAULTS.has(control.fault);
}

/** Puts the call on the bill, if it is billed at all; calls that cost nothing by nature have no `metered`. */
export function book(exchange: Exchange, metered: Metered | undefined, aborted: boolean): void {
  if (metered === undefined || !isBilled(exchange.control)) return;
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
    extras: metered.extras,
  });
}

/** Runs `then` after the controlled latency, or `gone` if the client leaves first. */
export function afterLatency(exchange: Exchange, then: () => void, gone: () => void): void {
  afterDelay(exchange.reply, exchange.control.latencyMs, then, gone);
}

/** Runs `then` after so many milliseconds, or `gone` if the client leaves first. */
export function afterDelay(reply: Reply, delayMs: number | undefined, then: () => void, gone: () => void): void {
  if (delayMs === undefined || delayMs === 0) {
    then();
    return;
  }
  const timer = setTimeout(() => {
    reply.whenGone(undefined);
    then();
  }, delayMs);
  reply.whenGone(() => {
    clearTimeout(timer);
    gone();
  });
}

/** The headers that the vendor puts on every answer of a model. */
export function providerHeaders({ vendor, callId, receivedAtMs }: Exchange): HeaderLines {
  if (vendor === "openai") return `x-request-id: req_${callId}\r\nopenai-version: 2020-10-01\r\n`;
  if (vendor === "anthropic") return anthropicHeaders(callId, receivedAtMs);
  if (vendor === "azure") {
    return `apim-request-id: ${callId}\r\nx-ratelimit-remaining-requests: -1\r\nx-ratelimit-remaining-tokens: 0\r\n`;
  }
  if (vendor === "qianfan") return "X-Ratelimit-Limit-Requests: 300\r\nX-Ratelimit-Remaining-Requests: 299\r\n";
  return `x-request-id: ${callId}\r\n`;
}

/** Its resets are times, not durations. */
function anthropicHeaders(callId: string, receivedAtMs: number): HeaderLines {
  const reset = new Date(receivedAtMs + 60_000).toISOString().replace(/\.\d+/, "");
  const limits = ["requests", "input-tokens", "output-tokens"].map((kind) => {
    const name = `anthropic-ratelimit-${kind}`;
    return `${name}-limit: 4000\r\n${name}-remaining: 3999\r\n${name}-reset: ${reset}\r\n`;
  });
  return `request-id: req_${callId}\r\nanthropic-organization-id: sandbox\r\n${limits.join("")}`;
}
