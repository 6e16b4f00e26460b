/** What is told by webhook, and to whom. Thin: ids and states; whoever wants an answer asks for it with its key. */
import type { DeferredFacts, DeferredState } from "./deferred-call";

/** The body of a webhook, in the shape of the Standard Webhooks specification (https://www.standardwebhooks.com). */
export interface WebhookPayload {
  /** `<what>.<what became of it>`: "deferred_call.done". */
  readonly type: string;
  /** When it happened, ISO 8601. */
  readonly timestamp: string;
  readonly data: Readonly<Record<string, string | number | null>>;
}

/** What has to be told. Its id is the same at every attempt. */
export interface WebhookEvent {
  readonly id: string;
  readonly url: string;
  readonly payload: WebhookPayload;
}

/** Whether `host` is one of these names, or below one that begins with `*.`. Case does not matter. */
export function isHostAmong(hosts: readonly string[], host: string): boolean {
  const name = host.toLowerCase();
  return hosts.some((entry) => (entry.startsWith("*.") ? name.endsWith(entry.slice(1)) : name === entry));
}

export interface DeferredEnding {
  readonly state: DeferredState;
  readonly code: string | null;
  readonly endedMs: number;
  readonly requestId: string | null;
  readonly status: number | null;
}

/** The end of a deferred call. One call ends once: its event has the call's own id under another prefix. */
export function deferredCallEvent(url: string, facts: DeferredFacts, end: DeferredEnding): WebhookEvent {
  return {
    id: facts.id.replace(/^dfr_/u, "whk_"),
    url,
    payload: {
      type: `deferred_call.${end.state}`,
      timestamp: new Date(end.endedMs).toISOString(),
      data: {
        id: facts.id,
        object: "deferred_call",
        status: end.state,
        code: end.code,
        created_at: Math.floor(facts.createdMs / 1000),
        ended_at: Math.floor(end.endedMs / 1000),
        request_id: end.requestId,
        answer_status: end.status,
      },
    },
  };
}

/** Why an attempt came to nothing, beside `status_<n>`: what the receiver answered. None quotes address or answer. */
export const WEBHOOK_FAILURES = ["address_refused", "no_answer", "unreadable", "secret_missing"] as const;
export type WebhookFailure = (typeof WEBHOOK_FAILURES)[number] | `status_${number}`;
