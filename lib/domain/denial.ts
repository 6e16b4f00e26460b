/** A decision against a caller, as a value. Only lib/gateway/wire/error-response.ts knows what HTTP makes of it. */
import type { ConsumerKind, Meter } from "./snapshot";

export const DENIAL_CODES = [
  "invalid_api_key",
  "model_not_allowed",
  "model_not_found",
  "environment_forbidden",
  "consumer_forbidden",
  "consumer_frozen",
  "budget_exhausted",
  /** Of every provider that could serve: no budget of the caller's. */
  "provider_budget_exhausted",
  "protected_rung",
  "rate_limit_exceeded",
  "concurrency_limit_exceeded",
  "max_cost_exceeded",
  "price_missing",
  "deferred_running",
  "object_not_found",
  "batch_not_settled",
  "response_not_settled",
  "idempotency_mismatch",
  "idempotency_in_progress",
  "idempotency_not_kept",
  "invalid_request",
  "request_too_large",
  "not_found",
  "method_not_allowed",
  "identity_provider_unavailable",
  "quota_store_unavailable",
] as const;
export type DenialCode = (typeof DENIAL_CODES)[number];

export type BudgetScope = ConsumerKind | "key" | "session";

/** The budget that stands in the way, or what a session may use, with amounts as exact integers of its meter. */
export interface BudgetFacts {
  /** Null for a session. */
  readonly budgetId: string | null;
  readonly scope: BudgetScope;
  readonly consumerId: string;
  readonly consumerName: string;
  readonly meter: Meter;
  readonly periodKind: string;
  readonly periodId: string;
  readonly limit: bigint;
  readonly used: bigint;
  readonly held: bigint;
  readonly currency: string;
  /** Null for a session: it is over some time after its last call. */
  readonly resetsAtMs: number | null;
}

export interface Denial {
  readonly kind: "denial";
  readonly code: DenialCode;
  /** For invalid_request: what is wrong, safe to show. */
  readonly detail?: string;
  readonly param?: string;
  readonly budget?: BudgetFacts;
  readonly rungBasisPoints?: number;
  readonly rungName?: string | null;
  readonly retryAfterMs?: number;
  readonly model?: string;
  /** Providers and deployments whose own budgets are spent; for those who look after them, never for the caller. */
  readonly spentTargets?: readonly string[];
  /** Decided without the quota store. */
  readonly isDegraded?: boolean;
  /** The rung in force would have the call wait, where it can. */
  readonly mayWait?: boolean;
}

export function denial(code: DenialCode, facts: Omit<Denial, "kind" | "code"> = {}): Denial {
  return { kind: "denial", code, ...facts };
}

export function isDenial(value: unknown): value is Denial {
  return typeof value === "object" && value !== null && "kind" in value && value.kind === "denial";
}
