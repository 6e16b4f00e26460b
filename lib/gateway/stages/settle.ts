/** The end of a reservation: what was used, what it cost, which lines it charges, and why the call was served as it was. */
import { flatText } from "@/lib/domain/flat-text";
import { convertNanos, mulDivHalfEven } from "@/lib/domain/money";
import { meterAmounts, usageRatio } from "@/lib/domain/lines";
import type { Outcome, TokenUsage } from "@/lib/domain/usage-event";
import { FALLBACK_PRICE_ID, rungAt } from "@/lib/domain/policy";
import { costOf } from "@/lib/pricing/cost";
import { PriceError } from "@/lib/pricing/decimal";
import type { UpstreamErrorKind } from "@/lib/routing/upstream-error";
import type { Held } from "../exchange";
import type { BudgetLedger, Settlement } from "../ports";
import { notedSession } from "../session-call";
import { NO_USAGE } from "../wire/openai-usage";
import { heldUnits } from "./units";

const DAY_MS = 86_400_000;
let lastDay = { number: -1, text: "" };

export interface Measured {
  readonly usage: TokenUsage;
  readonly isEstimated: boolean;
  readonly outcome: Outcome;
  readonly statusCode: number | null;
  readonly firstByteMs: number | null;
  /** Code of why nothing more could be held, where that ended the stream. */
  readonly shortenedBy?: string;
  /** What the attempt failed of. */
  readonly failure?: UpstreamErrorKind;
}

export interface Cost {
  /** Nanos of the price's currency, then of the organisation's. */
  readonly priceAmount: bigint;
  readonly amount: bigint;
  readonly savedAmount: bigint;
  readonly components: ReturnType<typeof costOf>["components"];
}

/** An attempt that was sent and provably cost nothing: a fact of the ledger, and no request of any quota. */
export function failedMeasure(failure: UpstreamErrorKind, statusCode: number | null): Measured {
  const usage = { ...NO_USAGE, requests: 0 };
  return { usage, isEstimated: false, outcome: "upstream_error", statusCode, firstByteMs: null, failure };
}

export const NO_COST: Cost = { priceAmount: 0n, amount: 0n, savedAmount: 0n, components: [] };

function inOrganisationCurrency(amount: bigint, fxRate: string | null): bigint {
  return fxRate === null ? amount : convertNanos(amount, fxRate, "halfEven");
}

/** What the same tokens would have cost at the asked model, above what they did; 0 where nothing was saved. */
function savedBy(held: Held, usage: TokenUsage, amount: bigint): bigint {
  const asked = held.call.servings[0];
  if (!asked || asked.model === held.serving.model) return 0n;
  try {
    const price = costOf({ usage, rates: asked.price.rates, atMs: held.caller.startedMs }).amount;
    const saved = inOrganisationCurrency(price, asked.fxRate) - amount;
    return saved > 0n ? saved : 0n;
  } catch (error) {
    // The asked model has no rate for something that was used: nothing can be said of what it would have cost.
    if (error instanceof PriceError) return 0n;
    throw error;
  }
}

/** Prices measured usage. Throws PriceError where a kind of token has no rate (guarded by `price_missing` before). */
export function priceUsage(held: Held, usage: TokenUsage): Cost {
  const { amount: priceAmount, components } = costOf({
    usage,
    rates: held.serving.price.rates,
    atMs: held.caller.startedMs,
  });
  const amount = inOrganisationCurrency(priceAmount, held.serving.fxRate);
  return { priceAmount, amount, components, savedAmount: savedBy(held, usage, amount) };
}

const ONE_UNIT = 1_000_000_000n;

/** What is held by now, as the cost of a call that no price covers: nothing is known of its parts. */
export function costOfHold({ serving, slices, heldAmount }: Held): Cost {
  const amount = slices?.held.cost ?? heldAmount;
  const { fxRate } = serving;
  // The rate to nine decimals, and never none: what is estimated needs no more.
  const priceAmount = fxRate === null ? amount : mulDivHalfEven(amount, ONE_UNIT, convertNanos(ONE_UNIT, fxRate, "up"));
  return { priceAmount, amount, savedAmount: 0n, components: [] };
}

function chargedLines(held: Held, usage: TokenUsage, amount: bigint): string {
  const amounts = meterAmounts(amount, usage.inputTokens, usage.outputTokens, usage.requests);
  const { charges } = held.serving.plan;
  let text = "";
  for (const [index, { meter }] of held.call.lines.entries()) {
    if (charges[index])
      text += `${text === "" ? "" : ","}${held.call.linePrefixes[index] ?? ""}${String(amounts[meter])}"}`;
  }
  return text;
}

/** How it came here: the model it stands in for, attempts that failed, providers without money, a price that is not the model's. */
function routeNote({ serving, before, spent }: Held): string {
  const { standsInFor } = serving.plan;
  const model = standsInFor === undefined ? "" : `,"standsInFor":${JSON.stringify(standsInFor)}`;
  const failed = before.length === 0 ? "" : `,"failedAttempts":${JSON.stringify(before)}`;
  const passed = spent.size === 0 ? "" : `,"spentTargets":${JSON.stringify([...spent])}`;
  const price = serving.price.id === FALLBACK_PRICE_ID ? `,"price":"${FALLBACK_PRICE_ID}"` : "";
  return model + failed + passed + price;
}

/** Why the call was served as it was, in data: the budget that bound it, how full it was, the rung, the plan. */
export function explanationOf(
  held: Held,
  { shortenedBy, failure }: Pick<Measured, "shortenedBy" | "failure"> = {},
): string {
  const { binding, caller } = held;
  const budget = binding === null ? undefined : held.call.decision.budgets[binding.budget]?.budget;
  const ignored = caller.ignoredClaim === null ? "" : `,"ignoredClass":${JSON.stringify(caller.ignoredClaim)}`;
  const failed = failure === undefined ? "" : `,"failure":"${failure}"`;
  const shortened = shortenedBy === undefined ? "" : `,"shortenedBy":${JSON.stringify(shortenedBy)}`;
  const note = ignored + shortened + failed;
  const degraded = held.isDegraded ? ',"degraded":"quota_store"' : "";
  const named = caller.session === null ? null : notedSession(caller);
  const session = named === null ? "" : `"session":${JSON.stringify(named)},`;
  const served = `{${session}"plan":"${held.serving.plan.decision}","rungBasisPoints":${String(held.rungBasisPoints)}${note}${degraded}${routeNote(held)}`;
  if (!budget || !binding) return `${served}}`;
  const ladder = budget.ladder === null ? undefined : caller.chain.policy.ladders[budget.ladder];
  const rungName = JSON.stringify(rungAt(ladder, held.rungBasisPoints)?.name ?? null);
  const ratio = String(usageRatio(binding.settled + binding.held, binding.limit));
  return `${served},"budgetId":"${budget.id}","ladder":${JSON.stringify(budget.ladder)},"rungName":${rungName},"ratioBasisPoints":${ratio},"settled":"${String(binding.settled)}","held":"${String(binding.held)}","limit":"${String(binding.limit)}"}`;
}

/** UTC day of an instant, as 2026-01-31; remembered, since nearly every call asks for today. */
function utcDay(timeMs: number): string {
  const number = Math.floor(timeMs / DAY_MS);
  if (number !== lastDay.number) lastDay = { number, text: new Date(timeMs).toISOString().slice(0, 10) };
  return lastDay.text;
}

/**
 * What the end adds to the usage event, and the amounts of the conclude script. JSON put together by hand where ids, numbers
 * and our own words need no escaping: it is made for every call.
 */
export function settlementOf(held: Held, measured: Measured, cost: Cost, nowMs: number): Settlement {
  const { usage } = measured;
  const { caller, serving } = held;
  const [amount, priceAmount] = [String(cost.amount), String(cost.priceAmount)];
  const resultJson = flatText(
    `,"kind":"settled","settledAtMs":${String(nowMs)},"outcome":"${measured.outcome}",` +
      `"isEstimated":${String(measured.isEstimated)},"isOverflow":${String(held.slices?.isOverflow ?? held.isOverflow)},` +
      `"decision":"${serving.plan.decision}","rungBasisPoints":${String(held.rungBasisPoints)},` +
      `"usage":${JSON.stringify(usage)},"components":${JSON.stringify(cost.components)},` +
      `"priceAmount":"${priceAmount}","amount":"${amount}","savedAmount":"${String(cost.savedAmount)}",` +
      `"lines":[${chargedLines(held, usage, cost.amount)}],"latencyMs":${String(Math.max(0, nowMs - caller.startedMs))},` +
      `"firstByteMs":${String(measured.firstByteMs)},"statusCode":${String(measured.statusCode)},` +
      `"explanation":${explanationOf(held, measured)}}`,
  );
  return {
    cost: amount,
    inputTokens: usage.inputTokens,
    outputTokens: usage.outputTokens,
    requests: usage.requests,
    priceCurrency: serving.price.currency,
    priceAmount,
    day: utcDay(caller.startedMs),
    resultJson,
  };
}

/** An attempt whose end nobody saw: the hold, or by policy the input alone. Corrected when the bill is reconciled. */
export function unknownUsage(held: Held): TokenUsage {
  const heldTokens = held.slices?.held.outputTokens ?? held.heldOutputTokens;
  const outputTokens = held.caller.chain.policy.unknownOutcome === "hold" ? heldTokens : 0;
  return {
    inputTokens: held.heldInputTokens,
    outputTokens,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
    ...heldUnits(held.request),
  };
}

export function openOf(held: Held): { organisationId: string; reservationId: string } {
  return { organisationId: held.caller.view.organisation.id, reservationId: held.reservationId };
}

/** Ends the reservation with what was measured, or at no cost (null). */
export async function conclude(
  held: Held,
  measured: Measured | null,
  cost: Cost | null,
  nowMs: number,
  ledger: BudgetLedger,
): Promise<void> {
  if (measured === null) {
    await ledger.void(openOf(held));
    return;
  }
  await ledger.settle(openOf(held), settlementOf(held, measured, cost ?? priceUsage(held, measured.usage), nowMs));
}
