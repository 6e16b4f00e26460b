/** A call that was taken for later: stored, run when money allows, answered by its id. */
import type { Environment } from "./snapshot";

export const DEFERRED_STATES = ["pending", "running", "done", "failed", "cancelled", "expired"] as const;
export type DeferredState = (typeof DEFERRED_STATES)[number];

/** What stands about a deferred call beside its text. Times in Unix ms. */
export interface DeferredFacts {
  readonly id: string;
  readonly apiKeyId: string;
  readonly appId: string;
  /** Of the key. */
  readonly environment: Environment;
  readonly createdMs: number;
  /** After this it is not begun any more. */
  readonly deadlineMs: number;
  /** How long its answer is kept from its end on. */
  readonly keepSeconds: number;
}

/** The call itself: sealed wherever it is stored. */
export interface DeferredRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Where its end is told; absent where nobody asked. */
  readonly webhook?: string | undefined;
}

/** An answer: sealed wherever it is stored. */
export interface DeferredAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly requestId: string | null;
  readonly cost: string | null;
  readonly body: string;
}

export function isDeferredId(text: string): boolean {
  return /^dfr_[0-9a-hjkmnp-tv-z]{26}$/u.test(text);
}

export function isEnded(state: DeferredState): boolean {
  return state !== "pending" && state !== "running";
}

/** Why a call ended that no gateway answered, beside `status_<n>` and the codes of refusals. */
export const DEFERRED_ENDS = ["outcome_unknown", "answer_too_large", "deadline_passed", "request_unreadable"] as const;

const FIRST_PAUSE_MS = 2_000;
const LONGEST_PAUSE_MS = 60_000;

/** Pause before the next try after `tries` that came to nothing: doubling, at most a minute, so that a top-up is seen soon. */
export function deferredPauseMs(tries: number): number {
  return Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.max(0, tries - 1));
}

export type DeferredEnd = "later" | "broken" | "failed" | "done";

/**
 * What an answer means for a deferred call: money, rates and stores come back (`later`), a provider may be mended (`broken`), anything
 * else is final.
 */
export function deferredEndOf(status: number): DeferredEnd {
  if (status < 400) return "done";
  if (status === 402 || status === 409 || status === 429 || status === 503) return "later";
  return status >= 500 ? "broken" : "failed";
}
