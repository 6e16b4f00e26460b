/** Calls of one organisation to the keys and arguments of reserve-n.lua, and its replies back. */
import { invariant } from "@/lib/domain/fault";
import type {
  BudgetReading,
  ReserveBudgetLine,
  ReserveInput,
  ReserveOutcome,
  ReserveRateLimit,
} from "@/lib/gateway/ports";
import type { OrganisationKeys } from "./keys";
import { keysOf } from "./keys";
import { burstOf } from "./local-windows";
import type { ScriptReply } from "./scripts";
import { numberAt, textAt } from "./scripts";

const MINUTE_MICROS = 60_000_000;
const ENFORCEMENT_LETTER = { enforce: "e", warn: "w", shadow: "s" } as const;

interface Terms {
  readonly keys: readonly string[];
  readonly text: string;
  /** As a reservation names its counters. */
  readonly counters: string;
}

/** What is the same for every call of a compiled call, packed once for its list of lines. */
const packed = new WeakMap<ReserveInput["budgets"], Terms>();

/** Interval and tolerance of a request rate in microseconds; nothing for a limit without one. */
export function requestRateWords(limit: ReserveRateLimit): readonly string[] {
  if (limit.requestsPerMinute === null) return [];
  const interval = MINUTE_MICROS / limit.requestsPerMinute;
  // GCRA: a burst of n means n - 1 may come early by one interval each.
  return [interval.toFixed(0), (interval * (burstOf(limit) - 1)).toFixed(0)];
}

function rateText(limit: ReserveRateLimit): string {
  const [interval, tolerance] = requestRateWords(limit);
  const words = [interval, tolerance, limit.tokensPerMinute, limit.concurrency];
  return `${words.map((word) => word ?? "-").join(" ")};`;
}

/** Budgets as the scripts take them: their keys, and a text for each (scripts/includes/terms.lua). */
export function budgetTerms(
  organisationId: string,
  budgets: ReserveInput["budgets"],
): { readonly keys: readonly string[]; readonly text: string } {
  const keys = keysOf(organisationId);
  const texts = budgets.map((line) => {
    const { session } = line;
    if (session) return `i ${line.budgetId} ${line.meter} ${session.limit} ${String(session.idleMs)};`;
    const overflowPlan = line.overflowPlan === null ? "-" : String(line.overflowPlan);
    return `${letterOf(line)} ${line.periodId} ${line.meter} ${line.rungs || "-"} ${overflowPlan};`;
  });
  return {
    keys: budgets.flatMap((line) => [counterOf(keys, line), keys.limit(line.budgetId)]),
    text: texts.join(""),
  };
}

/** Of what serves, not of who calls: where it has no room the call may go elsewhere. */
function letterOf({ enforcement, targetId }: ReserveBudgetLine): string {
  return targetId !== undefined && enforcement === "enforce" ? "t" : ENFORCEMENT_LETTER[enforcement];
}

function counterOf(keys: OrganisationKeys, { budgetId, periodId, meter, session }: ReserveBudgetLine): string {
  return session ? keys.session(budgetId, meter) : keys.counter(budgetId, periodId);
}

/** A counter as a reservation names it. */
function counterText(keys: OrganisationKeys, line: ReserveBudgetLine): string {
  const { meter, session } = line;
  return `${counterOf(keys, line)}|${meter}${session ? `@${String(session.idleMs)}` : ""};`;
}

function termsOf(input: ReserveInput): Terms {
  const known = packed.get(input.budgets);
  if (known) return known;
  const keys = keysOf(input.organisationId);
  const budgets = budgetTerms(input.organisationId, input.budgets);
  const span = `${input.epoch} ${String(input.windowStartMs)} ${String(input.windowEndMs)}`;
  const fresh = {
    keys: [
      ...budgets.keys,
      ...input.rateLimits.flatMap(({ id }) => [keys.requestRate(id), keys.tokenRate(id), keys.concurrency(id)]),
    ],
    text: [
      span,
      budgets.text,
      input.rateLimits.map(rateText).join(""),
      input.head.opening,
      ...input.head.servings,
    ].join("\n"),
    counters: input.budgets.map((line) => counterText(keys, line)).join(""),
  };
  packed.set(input.budgets, fresh);
  return fresh;
}

/** An amount or "-" for each budget, with a space after each. */
export function planText(amounts: readonly (string | null)[]): string {
  let text = "";
  for (const amount of amounts) text += `${amount ?? "-"} `;
  return text;
}

interface Packed {
  readonly plans: string;
  readonly planCount: number;
}

/**
 * Two lines for each plan: its amounts, and what it holds as the head says it; "=" where both are those before. Denials at
 * the end need not be said.
 */
function packPlans(input: ReserveInput): Packed {
  const planCount = input.plans.findLastIndex((plan) => plan !== "denied") + 1;
  let plans = "";
  let last: { readonly plan: readonly (string | null)[]; readonly text: string; readonly held: string } | undefined;
  for (let index = 0; index < planCount; index += 1) {
    const plan = input.plans[index] ?? "denied";
    if (plan === "denied") {
      plans += "d\n\n";
      last = undefined;
      continue;
    }
    invariant(plan.length === input.budgets.length, "a plan has an amount or null for every budget");
    const held = input.head.held[index] ?? "";
    if (last?.plan === plan && last.held === held) {
      plans += "=\n";
    } else {
      last = { plan, text: last?.plan === plan ? last.text : planText(plan), held };
      plans += `${last.text}\n${held}\n`;
    }
  }
  return { plans, planCount };
}

function added(sum: number | null | undefined, amount: number | null | undefined): number | null {
  return sum === null || amount === null ? null : (sum ?? Number.NaN) + (amount ?? Number.NaN);
}

/** The terms of a batch, and what the mildest plans of its calls come to: the script looks at sums first. */
class TermsOfBatch {
  private readonly numbers = new Map<Terms, number>();
  private readonly sums: (number | null)[][] = [];

  /** The number of the call's terms, from 1. */
  add(input: ReserveInput): number {
    const terms = termsOf(input);
    let number = this.numbers.get(terms);
    if (number === undefined) {
      number = this.numbers.size + 1;
      this.numbers.set(terms, number);
      this.sums.push([]);
    }
    this.sum(number - 1, input);
    return number;
  }

  private sum(at: number, { plans: [mildest = "denied"], budgets }: ReserveInput): void {
    const sums = this.sums[at] ?? [];
    const amounts =
      mildest === "denied" ? undefined : mildest.map((amount) => (amount === null ? null : Number(amount)));
    // Nothing is said of calls that do not all charge the same budgets, as they do under one policy.
    const isAlike = amounts && sums.every((sum, index) => (sum === null) === (amounts[index] === null));
    if (sums.length === 0) this.sums[at] = amounts ?? [Number.NaN];
    else this.sums[at] = isAlike ? budgets.map((_, index) => added(sums[index], amounts[index])) : [Number.NaN];
  }

  texts(): string[] {
    return [
      ...[...this.numbers.keys()].map((terms) => terms.text),
      // Beyond what a double counts exactly nothing is said, and every call is looked at.
      ...this.sums.map((sums) =>
        sums.every((sum) => sum === null || Number.isSafeInteger(sum)) ? sums.map((sum) => sum ?? "-").join(" ") : "",
      ),
    ];
  }

  keys(): string[] {
    return [...this.numbers.keys()].flatMap((terms) => terms.keys);
  }
}

/** Keys and arguments of one batch. All inputs are of one organisation. */
export function reserveCommand(
  inputs: readonly ReserveInput[],
  runId: string,
  leaseMs: number,
  nowMs: string,
): { readonly keys: string[]; readonly args: string[] } {
  const keys = keysOf(inputs[0]?.organisationId ?? "");
  const terms = new TermsOfBatch();
  const reservations: string[] = [];
  const voided: { readonly id: string; readonly resultJson: string }[] = [];
  const calls: string[] = [];
  for (const input of inputs) {
    const termsNumber = terms.add(input);
    const { plans, planCount } = packPlans(input);
    reservations.push(keys.reservation(input.reservationId));
    const { previous } = input;
    const isVoided = previous?.resolution === "void";
    if (isVoided) voided.push({ id: previous.reservationId, resultJson: previous.resultJson ?? "" });
    const last = isVoided ? voided.length : 0;
    const facts = `${String(termsNumber)} ${String(last)} ${String(input.askedTokens)} ${String(planCount)}`;
    calls.push(input.reservationId, facts, input.head.call, plans);
  }
  const texts = terms.texts();
  return {
    keys: [
      keys.epoch,
      keys.generation,
      keys.deadlines,
      ...reservations,
      ...voided.map(({ id }) => keys.reservation(id)),
      ...terms.keys(),
      ...(voided.length === 0 ? [] : [keys.usage]),
    ],
    args: [
      runId,
      nowMs,
      String(leaseMs),
      String(inputs.length),
      String(texts.length / 2),
      String(voided.length),
      ...texts,
      ...voided.flatMap(({ id, resultJson }) => [id, resultJson]),
      ...calls,
    ],
  };
}

export function reading(reply: ScriptReply, at: number): BudgetReading {
  return {
    budget: numberAt(reply, at) - 1,
    settled: BigInt(textAt(reply, at + 1)),
    held: BigInt(textAt(reply, at + 2)),
    limit: BigInt(textAt(reply, at + 3)),
  };
}

function reserved(reply: ScriptReply): ReserveOutcome {
  return {
    code: "reserved",
    plan: numberAt(reply, 1),
    rungBasisPoints: numberAt(reply, 2),
    binding: numberAt(reply, 3) === 0 ? null : reading(reply, 3),
    isOverflow: numberAt(reply, 7) === 1,
    nowMs: numberAt(reply, 8),
  };
}

/** An answer of reserve-n.lua, word by word. */
export function reserveWords(answer: string): ScriptReply {
  return answer.split(" ");
}

/** Result codes of reserve-n.lua, named once. */
export function reserveOutcome(reply: ScriptReply): ReserveOutcome {
  const at = (index: number) => numberAt(reply, index);
  switch (at(0)) {
    case 0:
      return reserved(reply);
    case 1:
      // Only our own call sent again can meet its reservation; a resolved one cannot be served again.
      invariant(textAt(reply, 1) === "p", "a reservation id is reserved once");
      return {
        code: "reserved",
        plan: at(2),
        rungBasisPoints: at(3),
        binding: null,
        isOverflow: at(4) === 1,
        nowMs: 0,
      };
    case 2:
      return { code: "stale" };
    case 3:
      return { code: "fenced" };
    case 4:
      return { code: "clock", nowMs: at(1) };
    case 5:
      return { code: "rung", plan: at(1), rungBasisPoints: at(2), binding: reading(reply, 3) };
    case 6:
      return { code: "exhausted", binding: reading(reply, 1) };
    case 7:
      return { code: "frozen", budget: at(1) - 1 };
    case 8:
    case 9:
      return { code: "rate", denial: "rate_limit_exceeded", rateLimit: at(1) - 1, retryAfterMs: at(2) };
    case 10:
      return { code: "rate", denial: "concurrency_limit_exceeded", rateLimit: at(1) - 1, retryAfterMs: 1000 };
    case 11:
      return { code: "too_large", budget: at(1) - 1 };
    case 12:
      return { code: "unknown_budget", budget: at(1) - 1 };
    default:
      throw new Error(`unknown reply of reserve: ${String(reply[0])}`);
  }
}

/** Counters and amounts of the plan that was taken, as the reservation keeps them (scripts/includes/reservation.lua). */
export function packedHold(input: ReserveInput, plan: number): { readonly counters: string; readonly amounts: string } {
  const amounts = input.plans[plan];
  if (amounts === undefined || amounts === "denied") return { counters: "", amounts: "" };
  return { counters: termsOf(input).counters, amounts: planText(amounts) };
}
