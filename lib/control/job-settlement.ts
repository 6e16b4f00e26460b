/** The end of what a provider worked at after its call: what it came to is charged to what was held. */
import type { JobEnd, ProviderJob } from "@/lib/db/provider-jobs";
import type { HeldLine, PriceUsage } from "@/lib/domain/expiry";
import { expiryOf } from "@/lib/domain/expiry";
import { meterAmounts } from "@/lib/domain/lines";
import { convertNanos } from "@/lib/domain/money";
import type { JobFacts } from "@/lib/domain/provider-job";
import type { EventResult, UsageEventHead } from "@/lib/domain/usage-event";
import { usageEventHead } from "@/lib/domain/usage-event";
import { BATCH_TIER } from "@/lib/pricing/batch-cost";
import { costOf } from "@/lib/pricing/cost";
import { PriceError } from "@/lib/pricing/decimal";
import { heldLines } from "@/lib/redis/sweeper";

export interface HeldJob {
  readonly head: UsageEventHead;
  readonly lines: readonly HeldLine[];
  readonly rungBasisPoints: number;
  readonly isOverflow: boolean;
}

/** Undefined where the reservation had ended before anybody kept it, or says nothing readable. */
export function heldOf({ facts, hold }: ProviderJob): HeldJob | undefined {
  if (!hold) return undefined;
  const head = usageEventHead.safeParse(JSON.parse(hold.headJson));
  if (!head.success) return undefined;
  const { rungBasisPoints, isOverflow } = hold;
  const lines = heldLines(facts.organisationId, hold.counters, hold.amounts);
  return { head: head.data, lines, rungBasisPoints, isOverflow };
}

export function inOrganisationCurrency(amount: bigint, fxRate: string | null): bigint {
  return fxRate === null ? amount : convertNanos(amount, fxRate, "halfEven");
}

/** What was measured; `priceAmount` in nanos of the price's currency, `savedAmount` of the organisation's. */
export interface MeasuredJob extends Pick<
  EventResult,
  "outcome" | "isEstimated" | "decision" | "usage" | "components" | "explanation"
> {
  readonly priceAmount: bigint;
  readonly savedAmount: bigint;
}

export function measuredEnd(held: HeldJob, measured: MeasuredJob, nowMs: number): JobEnd {
  const { head, lines, rungBasisPoints, isOverflow } = held;
  const { priceAmount, savedAmount, ...said } = measured;
  const { inputTokens, outputTokens, requests } = said.usage;
  const amount = inOrganisationCurrency(priceAmount, head.fxRate);
  const amounts = meterAmounts(amount, inputTokens, outputTokens, requests);
  const result: EventResult = {
    ...said,
    ...{ kind: "settled", settledAtMs: nowMs, isOverflow, rungBasisPoints, savedAmount: savedAmount.toString() },
    ...{ priceAmount: priceAmount.toString(), amount: amount.toString() },
    lines: lines.map(({ budgetId, periodId, meter }) => ({
      ...{ b: budgetId, p: periodId, m: meter, a: amounts[meter].toString() },
    })),
    ...{ latencyMs: Math.max(0, nowMs - head.reservedAtMs), firstByteMs: null, statusCode: 200 },
  };
  return { result };
}

function priceOf({ kind, rates }: JobFacts, { reservedAtMs: atMs }: UsageEventHead): PriceUsage {
  return (usage) => {
    try {
      return costOf({ usage: kind === "batch" ? { ...usage, serviceTier: BATCH_TIER } : usage, rates, atMs });
    } catch (error) {
      if (error instanceof PriceError) return null;
      throw error;
    }
  };
}

/** Nobody can say any more what was used: as of any call whose end nobody saw. */
export function unknownEnd({ facts }: ProviderJob, held: HeldJob, nowMs: number): JobEnd {
  const { event } = expiryOf({ ...held, counted: null }, priceOf(facts, held.head), nowMs);
  const explanation = { ...facts.explanation, ...event.explanation };
  return { result: { ...event, kind: "settled", explanation } };
}

/** Of a job of which the provider says nothing, for too long. */
export function endUnseen(job: ProviderJob, nowMs: number): JobEnd {
  const held = heldOf(job);
  return held ? unknownEnd(job, held, nowMs) : { result: null };
}
