/** One round trip: takes the hold of the rung in force on every budget above the caller, or answers why not. */
import type { ActionKind } from "@/lib/domain/policy";
import { ACTION_KINDS, rungAt } from "@/lib/domain/policy";
import type { BudgetFacts, Denial } from "@/lib/domain/denial";
import { denial } from "@/lib/domain/denial";
import { flatText } from "@/lib/domain/flat-text";
import { nanosToDecimal } from "@/lib/domain/money";
import type { Meter } from "@/lib/domain/snapshot";
import type { CompiledCall } from "../compiled-call";
import type { Serving } from "../serving";
import type { Classified, Held } from "../exchange";
import type { BudgetLedger, BudgetReading, ReserveInput, ReserveOutcome } from "../ports";
import { sessionFacts } from "../session-call";
import type { RouteRequest } from "../wire/routes/route-request";
import type { CountedInputs, Estimate } from "./estimate";
import { estimatePlans } from "./estimate";
import { firstSlices, Slices } from "./slices";

export const RETRY_FENCED_MS = 1000;
const PROTECTED_RETRY_MS = 30_000;

/** The store knows more than this process: catch up, or look at its clock, and decide again. */
export type ReserveAgain = { readonly again: "stale" } | { readonly again: "clock"; readonly nowMs: number };

// JSON put together by hand: it is made for every call, and ids and numbers need no escaping.
function heldPart(estimate: Estimate): string {
  const { requests } = estimate.amounts;
  const many = requests === 1n ? "" : `,"heldRequests":${String(requests)}`;
  return `"heldAmount":"${String(estimate.cost)}","heldInputTokens":${String(estimate.inputTokens)},"heldOutputTokens":${String(estimate.outputTokens)}${many}`;
}

function callPart(caller: Classified, request: RouteRequest, attempt: number): string {
  const named = caller.endUser ?? request.endUser;
  const endUser = named === null ? "null" : JSON.stringify(named);
  return `"requestId":"${caller.requestId}","attempt":${String(attempt)},"apiKeyId":"${caller.key.keyId}","reservedAtMs":${String(caller.startedMs)},"endUser":${endUser},"isStream":${String(request.isStream)},`;
}

/** UsageEventHead of a call that holds so much by now, as JSON. */
export function headOf({ call, caller, request, attempt, planNumber }: Held, held: Estimate): string {
  const serving = call.headServings[planNumber] ?? "";
  return `${call.headOpening}${serving}${callPart(caller, request, attempt)}${heldPart(held)}}`;
}

export function budgetFacts(caller: Classified, call: CompiledCall, reading: BudgetReading): BudgetFacts | undefined {
  const planned = call.decision.budgets[reading.budget];
  const line = call.lines[reading.budget];
  if (line?.session) return sessionFacts(caller, line, reading);
  // What may be spent at a provider is no caller's business.
  if (line?.targetId !== undefined) return undefined;
  if (!planned || !line) return undefined;
  const { budget } = planned;
  const consumer = budget.consumerId === null ? undefined : caller.view.consumers.get(budget.consumerId);
  return {
    budgetId: budget.id,
    scope: consumer?.kind ?? "key",
    consumerId: consumer?.id ?? caller.key.keyId,
    consumerName: consumer?.name ?? caller.key.name,
    meter: budget.meter,
    periodKind: budget.periodKind,
    periodId: line.periodId,
    limit: reading.limit,
    used: reading.settled,
    held: reading.held,
    currency: caller.view.organisation.currency,
    resetsAtMs: call.resetsAtMs[reading.budget] ?? 0,
  };
}

/** The budget of what would have served has no room: the call may go elsewhere. */
export interface TargetSpent {
  /** Of the provider or the deployment. */
  readonly spentAt: string;
}

/** A rung that answers with a fixed text instead of a model; the denial is for routes that have no text. */
export interface StaticRung {
  readonly isStatic: true;
  readonly refusal: Denial;
}

/** How an attempt is reserved. */
export interface ReserveOptions {
  readonly attempt: number;
  readonly before: Held["before"];
  readonly spent: Held["spent"];
  /** The attempt before, resolved in the same step. */
  readonly previous: ReserveInput["previous"];
  readonly counted: CountedInputs | undefined;
  /** The most the caller lets this call cost, in nanos of the organisation's currency; null where it does not say. */
  readonly maxCost: bigint | null;
  /** By plan, of calls whose bounds are not of their body; those take no tokens of a minute. */
  readonly estimates?: readonly (Estimate | undefined)[];
}

/** A rung that refuses is the budget's end where it stands at the limit, and a protected rung below it. */
function rungDenial(
  caller: Classified,
  call: CompiledCall,
  outcome: Extract<ReserveOutcome, { code: "rung" }>,
): Denial {
  const budget = budgetFacts(caller, call, outcome.binding);
  const name = call.decision.budgets[outcome.binding.budget]?.budget.ladder ?? "";
  const rung = rungAt(caller.chain.policy.ladders[name], outcome.rungBasisPoints);
  const facts = {
    ...(budget ? { budget } : {}),
    rungBasisPoints: outcome.rungBasisPoints,
    rungName: rung?.name ?? null,
  };
  const action: ActionKind = ACTION_KINDS[outcome.plan] ?? "refuse";
  if (action === "refuse" || outcome.rungBasisPoints >= 10_000) return denial("budget_exhausted", facts);
  const seconds = (rung?.actions[caller.trafficClass] ?? rung?.actions["*"])?.retryAfterSeconds;
  return denial("protected_rung", {
    ...facts,
    retryAfterMs: seconds === undefined ? PROTECTED_RETRY_MS : seconds * 1000,
    mayWait: action === "defer",
  });
}

function denialOf(caller: Classified, call: CompiledCall, outcome: ReserveOutcome): Denial {
  switch (outcome.code) {
    case "rung":
      return rungDenial(caller, call, outcome);
    case "exhausted": {
      const budget = budgetFacts(caller, call, outcome.binding);
      return denial("budget_exhausted", budget ? { budget } : {});
    }
    case "frozen":
      return denial("consumer_frozen");
    case "rate":
      return denial(outcome.denial, { retryAfterMs: outcome.retryAfterMs, isDegraded: outcome.isLocal === true });
    case "too_large":
      return denial("invalid_request", { detail: "this call could cost more than the ledger can hold" });
    // No limit stands for a budget in force: never pass on what cannot be counted.
    default:
      return denial("quota_store_unavailable", { retryAfterMs: RETRY_FENCED_MS });
  }
}

interface Prepared {
  readonly input: ReserveInput;
  readonly estimates: readonly (Estimate | undefined)[];
}

interface PlanAmounts {
  readonly estimate: Estimate;
  readonly charges: readonly boolean[];
  readonly amounts: readonly (string | null)[];
  readonly held: string;
}

function amountsOf(charges: readonly boolean[], estimate: Estimate, call: CompiledCall): (string | null)[] {
  const texts: Partial<Record<Meter, string>> = {};
  // A session is charged whatever serves; it is none of the decision's budgets.
  return call.lines.map(({ meter, session }, budget) =>
    charges[budget] || session ? (texts[meter] ??= String(estimate.amounts[meter])) : null,
  );
}

function prepare(
  caller: Classified,
  request: RouteRequest,
  call: CompiledCall,
  options: ReserveOptions,
): Prepared | Denial {
  const { attempt, maxCost } = options;
  const { outputCapTokens, increments } = caller.chain.policy;
  const wholes = options.estimates ?? estimatePlans(request, call, outputCapTokens, options.counted);
  const estimates = increments === null ? wholes : firstSlices(request, call.servings, wholes, increments);
  const estimate = estimates[0];
  if (!estimate) return denial("price_missing", { model: request.model });
  const { cost } = estimate.whole ?? estimate;
  if (maxCost !== null && cost > maxCost) return tooDear(caller, cost, maxCost);
  const held: string[] = [];
  let known: PlanAmounts | undefined;
  const plans = call.decision.plans.map((plan, index) => {
    const own = estimates[index];
    if (plan.kind === "deny" || !own || (maxCost !== null && (own.whole ?? own).cost > maxCost)) {
      held.push("");
      return "denied" as const;
    }
    // Plans that differ in name only are the same amounts, said once.
    if (known?.estimate !== own || known.charges !== plan.charges)
      known = {
        estimate: own,
        charges: plan.charges,
        amounts: amountsOf(plan.charges, own, call),
        held: heldPart(own),
      };
    held.push(known.held);
    return known.amounts;
  });
  return {
    estimates,
    input: {
      organisationId: caller.view.organisation.id,
      reservationId: flatText(`${caller.requestId}:${String(attempt)}`),
      epoch: caller.view.epoch,
      windowStartMs: call.windowStartMs,
      windowEndMs: call.windowEndMs,
      budgets: call.lines,
      plans,
      rateLimits: call.rateLimits,
      askedTokens: options.estimates ? 0 : estimate.inputTokens + estimate.outputTokens,
      head: {
        opening: call.headOpening,
        call: callPart(caller, request, attempt),
        servings: call.headServings,
        held,
      },
      previous: options.previous,
      isKept: options.estimates !== undefined || request.extras.isBackground,
    },
  };
}

function tooDear(caller: Classified, cost: bigint, maxCost: bigint): Denial {
  const { currency } = caller.view.organisation;
  const detail = `up to ${nanosToDecimal(cost)} ${currency}, and x-spillway-max-cost is ${nanosToDecimal(maxCost)}`;
  return denial("max_cost_exceeded", { detail });
}

function slicesOf(
  caller: Classified,
  request: RouteRequest,
  serving: Serving,
  first: Estimate,
  isOverflow: boolean,
): Slices | null {
  const { increments } = caller.chain.policy;
  if (increments === null || !first.whole) return null;
  return new Slices(request, serving, first, first.whole, increments, isOverflow);
}

/** The plan that the binding budget's rung asks for: a stricter one was taken for want of room. */
function planOfRung(call: CompiledCall, outcome: Extract<ReserveOutcome, { code: "reserved" }>): number {
  const steps = outcome.binding === null ? undefined : call.decision.budgets[outcome.binding.budget]?.steps;
  return steps?.findLast((step) => step.atBasisPoints <= outcome.rungBasisPoints)?.plan ?? 0;
}

/** Whose budget has no room, or is frozen, where that is not the caller's. */
function spentTarget({ lines }: CompiledCall, outcome: ReserveOutcome): string | undefined {
  if (outcome.code === "exhausted") return lines[outcome.binding.budget]?.targetId;
  return outcome.code === "frozen" ? lines[outcome.budget]?.targetId : undefined;
}

/** The budget that binds the caller: what may be spent at a provider binds nobody. */
function bindingOf({ lines }: CompiledCall, binding: BudgetReading | null): BudgetReading | null {
  return binding === null || lines[binding.budget]?.targetId !== undefined ? null : binding;
}

/** Whether a tighter hold could have been served better, or at all. */
export function isTight(result: Held | Denial): boolean {
  if ("kind" in result) {
    return (
      result.code === "max_cost_exceeded" ||
      (result.code === "budget_exhausted" && result.rungBasisPoints === undefined)
    );
  }
  return result.isTight;
}

/** Held, a denial, a fixed text, or the word to decide again. Throws StoreUnavailable, MoneyError and PriceError. */
export async function reserve(
  caller: Classified,
  request: RouteRequest,
  call: CompiledCall,
  options: ReserveOptions,
  ledger: BudgetLedger,
): Promise<Held | Denial | StaticRung | TargetSpent | ReserveAgain> {
  const prepared = prepare(caller, request, call, options);
  if ("kind" in prepared) return prepared;
  const outcome = await ledger.reserve(prepared.input);
  if (outcome.code === "stale") return { again: "stale" };
  if (outcome.code === "clock") return { again: "clock", nowMs: outcome.nowMs };
  if (outcome.code === "rung" && ACTION_KINDS[outcome.plan] === "static") {
    return { isStatic: true, refusal: denialOf(caller, call, outcome) };
  }
  const spentAt = spentTarget(call, outcome);
  if (spentAt !== undefined) return { spentAt };
  if (outcome.code !== "reserved") return denialOf(caller, call, outcome);
  const serving = call.servings[outcome.plan];
  const estimate = prepared.estimates[outcome.plan];
  if (!serving || !estimate) throw new Error("the store took a plan that serves nothing");
  return {
    caller,
    request,
    call,
    serving,
    planNumber: outcome.plan,
    reservationId: prepared.input.reservationId,
    attempt: options.attempt,
    before: options.before,
    spent: options.spent,
    heldAmount: estimate.cost,
    heldInputTokens: estimate.inputTokens,
    heldOutputTokens: estimate.outputTokens,
    writtenCap: estimate.writtenCap,
    slices: slicesOf(caller, request, serving, estimate, outcome.isOverflow),
    counted: options.counted?.get(serving.model) ?? null,
    isTight: outcome.isOverflow || (outcome.plan > 0 && outcome.plan > planOfRung(call, outcome)),
    rungBasisPoints: outcome.rungBasisPoints,
    isOverflow: outcome.isOverflow,
    isDegraded: outcome.isLocal === true,
    binding: bindingOf(call, outcome.binding),
  };
}
