/**
 * A bill line that nothing in our books explains: the gateway and Redis lost the call at the same instant. The signed
 * request tag says whose it is, so it is booked from what the control plane knows of that key at that time.
 */
import { findApiKey } from "@/lib/db/api-keys";
import { listBudgets } from "@/lib/db/budgets";
import type { Db } from "@/lib/db/client";
import { findConsumerPath } from "@/lib/db/consumers";
import { findServedModel } from "@/lib/db/served-models";
import { listFxRates } from "@/lib/db/prices";
import type { BilledCall } from "@/lib/domain/bill";
import { amountOfMeter } from "@/lib/domain/bill";
import { calendarOf } from "@/lib/domain/entities";
import type { ApiKey, Budget, FxRate, Organisation } from "@/lib/domain/entities";
import { inverseOf } from "@/lib/domain/expiry";
import { budgetApplies } from "@/lib/domain/lines";
import { convertNanos } from "@/lib/domain/money";
import { periodAt } from "@/lib/domain/period";
import type { ChargedLine, TokenUsage, UsageEvent } from "@/lib/domain/usage-event";

export interface Orphan {
  readonly requestId: string;
  readonly attempt: number;
  readonly reservedAtMs: number;
  readonly apiKeyId: string;
  readonly providerId: string;
  /** The provider's name of the model. */
  readonly upstreamModel: string;
  readonly currency: string;
  readonly billed: BilledCall;
}

/** The event to book; null where the bill's currency cannot be converted into the organisation's. */
export async function orphanEvent(
  db: Db,
  organisation: Organisation,
  orphan: Orphan,
  nowMs: number,
): Promise<UsageEvent | null> {
  const { billed, currency } = orphan;
  const isSame = currency === organisation.currency;
  const rates = isSame ? [] : await listFxRates(db.prisma, organisation.id);
  const fxRate = rateAt(rates, currency, organisation.currency, orphan.reservedAtMs);
  if (fxRate === null && !isSame) return null;
  const amount = fxRate === null ? billed.amount : convertNanos(billed.amount, fxRate, "halfEven");
  const key = await findApiKey(db.prisma, organisation.id, orphan.apiKeyId);
  const path = key === null ? [organisation.id] : await findConsumerPath(db.prisma, organisation.id, key.appId);
  const served = await findServedModel(
    db.pool,
    organisation.id,
    orphan.providerId,
    orphan.upstreamModel,
    orphan.reservedAtMs,
  );
  const model = served?.modelName ?? orphan.upstreamModel;
  const call = { path, key, model };
  const usage = usageOf(billed);
  const standsAt = [...path, key?.id, orphan.providerId, served?.deploymentId];
  const budgets = (await listBudgets(db.prisma, organisation.id)).filter((budget) =>
    isCharged(budget, standsAt, key, model),
  );
  const lines = budgets.map((budget): ChargedLine => ({
    b: budget.id,
    p: periodAt(budget.periodKind, orphan.reservedAtMs, calendarOf(organisation)).id,
    m: budget.meter,
    a: amountOfMeter(budget.meter, amount, usage).toString(),
  }));
  return {
    ...callerOf(orphan, call),
    organisationId: organisation.id,
    settledAtMs: nowMs,
    deploymentId: served?.deploymentId ?? null,
    priceId: served?.priceId ?? "",
    priceCurrency: currency,
    currency: organisation.currency,
    fxRate,
    usage,
    priceAmount: billed.amount.toString(),
    amount: amount.toString(),
    lines,
    ...ORPHAN_FIELDS,
  };
}

interface Call {
  readonly path: readonly string[];
  readonly key: ApiKey | null;
  readonly model: string;
}

function callerOf(orphan: Orphan, { path, key, model }: Call) {
  return {
    requestId: orphan.requestId,
    attempt: orphan.attempt,
    reservedAtMs: orphan.reservedAtMs,
    apiKeyId: orphan.apiKeyId,
    appId: key?.appId ?? "",
    consumerPath: [...path],
    environment: key?.environment ?? "production",
    trafficClass: key?.trafficClass ?? "general",
    modelRequested: model,
    modelServed: model,
    providerId: orphan.providerId,
  };
}

function usageOf(billed: BilledCall): TokenUsage {
  return {
    inputTokens: billed.inputTokens,
    cacheReadTokens: billed.cacheReadTokens,
    cacheWriteTokens: 0,
    outputTokens: billed.outputTokens,
    reasoningTokens: 0,
  };
}

/** What nobody can know any more. */
const ORPHAN_FIELDS = {
  endUser: null,
  route: "",
  isStream: false,
  heldAmount: "0",
  heldInputTokens: 0,
  heldOutputTokens: 0,
  unknownOutcome: "hold",
  kind: "late",
  outcome: "reconciled",
  isEstimated: false,
  isOverflow: false,
  decision: "pass",
  rungBasisPoints: 0,
  components: [],
  savedAmount: "0",
  latencyMs: null,
  firstByteMs: null,
  statusCode: null,
  explanation: { rule: "provider-bill-orphan" },
} satisfies Partial<UsageEvent>;

/** `standsAt`: everything that the call answered to, callers and provider. */
function isCharged(
  budget: Budget,
  standsAt: readonly (string | undefined)[],
  key: ApiKey | null,
  model: string,
): boolean {
  // Whose end user it was is not on a bill.
  if (budget.archivedAt !== null || budget.perEndUser) return false;
  const owner = budget.consumerId ?? budget.apiKeyId ?? budget.providerId ?? budget.deploymentId;
  const scope = { model, trafficClass: key?.trafficClass ?? "general", environment: key?.environment ?? "production" };
  return (
    owner !== null &&
    standsAt.includes(owner) &&
    budgetApplies({ ...budget, models: [...budget.models], classes: [...budget.classes] }, scope)
  );
}

/** The rate of `from` in `to` in force then, also by way of the opposite row; null where there is none. */
function rateAt(rates: readonly FxRate[], from: string, to: string, atMs: number): string | null {
  const known = rates.filter((rate) => rate.effectiveFrom.getTime() <= atMs);
  const direct = known.filter((rate) => rate.base === from && rate.quote === to).at(-1);
  if (direct) return direct.rate;
  const reverse = known.filter((rate) => rate.base === to && rate.quote === from).at(-1);
  return reverse === undefined ? null : inverseText(reverse.rate);
}

const RATE_DIGITS = 18;

/** 1 / rate as decimal text, cut after 18 digits: a correction converts by the text that the entry carries. */
function inverseText(rate: string): string {
  const { numerator, denominator } = inverseOf(rate);
  const digits = ((numerator * 10n ** BigInt(RATE_DIGITS)) / denominator).toString().padStart(RATE_DIGITS + 1, "0");
  return `${digits.slice(0, -RATE_DIGITS)}.${digits.slice(-RATE_DIGITS)}`;
}
