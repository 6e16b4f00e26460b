/** Headers of served answers: what was asked and served, what it cost, how full the tightest budget is. */
import { nanosToDecimal } from "@/lib/domain/money";
import { FALLBACK_PRICE_ID } from "@/lib/domain/policy";
import type { Held } from "../exchange";

const MICRO_NANOS = 1000n;
/** Largest integer of a structured field (RFC 8941 section 3.3.1). */
const MAX_STRUCTURED_INTEGER = 999_999_999_999_999n;

function structured(value: bigint): string {
  if (value < 0n) return "0";
  return String(value > MAX_STRUCTURED_INTEGER ? MAX_STRUCTURED_INTEGER : value);
}

/** The IETF pair (draft-ietf-httpapi-ratelimit-headers): money in millionths of the currency, other meters in pieces. */
function rateLimitPair(held: Held, nowMs: number, headers: Record<string, string>): void {
  const { binding, call } = held;
  const budget = binding === null ? undefined : call.decision.budgets[binding.budget]?.budget;
  if (!binding || !budget) return;
  const divisor = budget.meter === "cost" ? MICRO_NANOS : 1n;
  const unit = budget.meter === "cost" ? `micro-${held.caller.view.organisation.currency.toLowerCase()}` : budget.meter;
  const seconds = Math.max(0, Math.ceil(((call.resetsAtMs[binding.budget] ?? nowMs) - nowMs) / 1000));
  const own = budget.meter === "cost" ? held.heldAmount : 0n;
  const left = binding.limit - binding.settled - binding.held - own;
  headers["ratelimit-policy"] = `"${budget.periodKind}";q=${structured(binding.limit / divisor)};qu="${unit}"`;
  headers.ratelimit = `"${budget.periodKind}";r=${structured(left / divisor)};t=${String(seconds)}`;
}

/** What was away when the call was decided: budgets are counted afterwards, rates by this process alone. */
export const DEGRADED_HEADER = "x-spillway-degraded";

const PLAIN = /^[\x20-\x7e]*$/u;

/** A name as a header value: as it is where it is ASCII, else percent-encoded (names of models may be in any script). */
export function headerName(name: string): string {
  return PLAIN.test(name) ? name : encodeURIComponent(name);
}

export function servedHeaders(held: Held, nowMs: number): Record<string, string> {
  const { serving, caller } = held;
  const headers: Record<string, string> = {
    "x-request-id": caller.requestId,
    "x-spillway-model": headerName(serving.model.name),
    "x-spillway-requested-model": headerName(held.request.model),
    "x-spillway-rung": String(held.rungBasisPoints / 100),
    "x-spillway-decision": serving.plan.decision,
    "x-spillway-cache": "miss",
    "x-spillway-currency": caller.view.organisation.currency,
    "x-quota-source": held.isOverflow ? "overflow" : "budget",
  };
  const { standsInFor } = serving.plan;
  if (standsInFor !== undefined) headers["x-spillway-stands-in-for"] = headerName(standsInFor);
  if (held.isDegraded) headers[DEGRADED_HEADER] = "quota-store";
  if (serving.price.id === FALLBACK_PRICE_ID) headers["x-spillway-price"] = FALLBACK_PRICE_ID;
  rateLimitPair(held, nowMs, headers);
  return headers;
}

/** Cost as a decimal of the organisation's currency, exact to the nano. */
export function costHeader(amount: bigint): string {
  return nanosToDecimal(amount);
}
