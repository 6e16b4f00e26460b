/**
 * What a call costs whose process died: a stream at its last counted usage, an unknown outcome at the hold, or by policy
 * at its input alone. Never free, always marked as an estimate: the provider's bill corrects it.
 */
import type { ExactRate, Nanos } from "./money";
import { convertNanos } from "./money";
import type { Meter } from "./snapshot";
import type { ChargedLine, CostComponent, TokenUsage, UsageEvent, UsageEventHead } from "./usage-event";

/** A budget that the reservation charged. */
export interface HeldLine {
  readonly budgetId: string;
  readonly periodId: string;
  readonly meter: Meter;
}

export interface ExpiredReservation {
  readonly head: UsageEventHead;
  readonly lines: readonly HeldLine[];
  /** Usage carried by the last renewal of a stream; null where none was. */
  readonly counted: TokenUsage | null;
  readonly rungBasisPoints: number;
  readonly isOverflow: boolean;
}

/** Prices a usage in nanos of the head's price currency; null where its price row is gone. */
export type PriceUsage = (usage: TokenUsage) => { readonly amount: Nanos; readonly components: CostComponent[] } | null;

export interface Expiry {
  readonly event: UsageEvent;
  /** What each meter is charged, as the expire script takes it. */
  readonly meters: Readonly<Record<Meter, bigint>>;
}

/** The event that ends a reservation whose lease ran out at `nowMs` (Unix ms). Throws MoneyError for rates that make no sense. */
export function expiryOf(reservation: ExpiredReservation, priceUsage: PriceUsage, nowMs: number): Expiry {
  const { head, counted, lines } = reservation;
  const estimate = estimateOf(head, counted, priceUsage);
  const { usage, amount, priceAmount, components } = estimate;
  const meters: Record<Meter, bigint> = {
    cost: amount,
    input_tokens: BigInt(usage.inputTokens),
    output_tokens: BigInt(usage.outputTokens),
    total_tokens: BigInt(usage.inputTokens + usage.outputTokens),
    requests: BigInt(usage.requests ?? 1),
  };
  const event: UsageEvent = {
    ...head,
    kind: "expired",
    settledAtMs: nowMs,
    outcome: counted === null ? "unknown" : "expired",
    isEstimated: true,
    isOverflow: reservation.isOverflow,
    decision: head.modelServed === head.modelRequested ? "pass" : "downgrade",
    rungBasisPoints: reservation.rungBasisPoints,
    usage,
    components,
    priceAmount: priceAmount.toString(),
    amount: amount.toString(),
    savedAmount: "0",
    lines: lines.map((line): ChargedLine => ({
      b: line.budgetId,
      p: line.periodId,
      m: line.meter,
      a: meters[line.meter].toString(),
    })),
    latencyMs: null,
    firstByteMs: null,
    statusCode: null,
    explanation: { estimate: estimate.basis },
  };
  return { event, meters };
}

interface Estimate {
  readonly basis: "counted" | "hold" | "input";
  readonly usage: TokenUsage;
  readonly amount: Nanos;
  readonly priceAmount: Nanos;
  readonly components: CostComponent[];
}

const NO_TOKENS: TokenUsage = {
  inputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
};

function estimateOf(head: UsageEventHead, counted: TokenUsage | null, priceUsage: PriceUsage): Estimate {
  const basis = counted !== null ? "counted" : head.unknownOutcome;
  const requests = head.heldRequests === undefined ? {} : { requests: head.heldRequests };
  if (basis !== "hold") {
    const usage = counted ?? { ...NO_TOKENS, ...requests, inputTokens: head.heldInputTokens };
    const priced = priceUsage(usage);
    if (priced !== null) {
      const amount = head.fxRate === null ? priced.amount : convertNanos(priced.amount, head.fxRate, "halfEven");
      return { basis, usage, amount, priceAmount: priced.amount, components: priced.components };
    }
  }
  const amount = BigInt(head.heldAmount);
  const { heldInputTokens: inputTokens, heldOutputTokens: outputTokens } = head;
  const usage = { ...NO_TOKENS, ...requests, inputTokens, outputTokens };
  const priceAmount = head.fxRate === null ? amount : convertNanos(amount, inverseOf(head.fxRate), "halfEven");
  return { basis: "hold", usage, amount, priceAmount, components: [] };
}

/** 1 / rate, exactly. `rate` is plain decimal text, as the head carries it. */
export function inverseOf(rate: string): ExactRate {
  const [whole = "", fraction = ""] = rate.split(".");
  return { numerator: 10n ** BigInt(fraction.length), denominator: BigInt(whole + fraction) };
}
