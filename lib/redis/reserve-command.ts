/** ReserveInput to the keys and arguments of reserve-n.lua, and its reply back. */
import { invariant } from "@/lib/domain/fault";
import type { BudgetReading, ReserveInput, ReserveOutcome } from "@/lib/gateway/ports";
import { keysOf } from "./keys";
import type { ScriptReply } from "./scripts";
import { numberAt, textAt } from "./scripts";

const MINUTE_MICROS = 60_000_000;
const ENFORCEMENT_LETTER = { enforce: "e", warn: "w", shadow: "s" } as const;

interface PackedBudgets {
  readonly keys: readonly string[];
  readonly text: string;
}

/** The part of a reserve that is the same for every call of a compiled call: packed once for its list of lines. */
const packed = new WeakMap<ReserveInput["budgets"], PackedBudgets>();

function packedBudgets(input: ReserveInput): PackedBudgets {
  const known = packed.get(input.budgets);
  if (known) return known;
  const keys = keysOf(input.organisationId);
  const fresh = {
    keys: input.budgets.flatMap((line) => [keys.counter(line.budgetId, line.periodId), keys.limit(line.budgetId)]),
    text: input.budgets
      .map((line) => {
        const rungs = line.rungs === "" ? "-" : line.rungs;
        const overflowPlan = line.overflowPlan === null ? "-" : String(line.overflowPlan);
        return `${ENFORCEMENT_LETTER[line.enforcement]} ${line.periodId} ${line.meter} ${rungs} ${overflowPlan};`;
      })
      .join(""),
  };
  packed.set(input.budgets, fresh);
  return fresh;
}

export function reserveKeys(input: ReserveInput): string[] {
  const keys = keysOf(input.organisationId);
  const reservation = keys.reservation(input.reservationId);
  const list = [
    reservation,
    keys.epoch,
    keys.generation,
    keys.deadlines,
    input.previous === null ? reservation : keys.reservation(input.previous.reservationId),
  ];
  list.push(...packedBudgets(input).keys);
  for (const limit of input.rateLimits) {
    list.push(keys.requestRate(limit.id), keys.tokenRate(limit.id), keys.concurrency(limit.id));
  }
  return list;
}

function optional(value: number | null): string {
  return value === null ? "" : String(value);
}

function pushRateLimits(args: string[], input: ReserveInput): void {
  for (const limit of input.rateLimits) {
    const interval = limit.requestsPerMinute === null ? null : MINUTE_MICROS / limit.requestsPerMinute;
    // GCRA: a burst of n means n - 1 may come early by one interval each.
    const burst = Math.max(1, limit.burstRequests ?? limit.requestsPerMinute ?? 1);
    args.push(
      interval === null ? "" : interval.toFixed(0),
      interval === null ? "" : (interval * (burst - 1)).toFixed(0),
      optional(limit.tokensPerMinute),
      String(input.askedTokens),
      optional(limit.concurrency),
    );
  }
}

function planText(amounts: readonly (string | null)[]): string {
  let text = "";
  for (const amount of amounts) text += `${amount ?? "-"} `;
  return text;
}

export function reserveArguments(input: ReserveInput, runId: string, leaseMs: number, nowMs: string): string[] {
  // Denials at the end need not be said.
  const plans = input.plans.slice(0, input.plans.findLastIndex((plan) => plan !== "denied") + 1);
  const args = [
    input.reservationId,
    input.epoch,
    runId,
    nowMs,
    String(leaseMs),
    String(input.windowStartMs),
    String(input.windowEndMs),
    input.headJson,
    packedBudgets(input).text,
    String(plans.length),
    String(input.rateLimits.length),
    input.previous?.resolution === "void" ? "void" : "",
    input.previous?.reservationId ?? "",
  ];
  for (const [index, plan] of plans.entries()) {
    invariant(
      plan === "denied" || plan.length === input.budgets.length,
      "a plan has an amount or null for every budget",
    );
    args.push(plan === "denied" ? "d" : planText(plan), input.headPatches[index] ?? "");
  }
  pushRateLimits(args, input);
  return args;
}

function reading(reply: ScriptReply, at: number): BudgetReading {
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

/** Lines as reserve-n.lua packs them, of the plan that was taken. */
export function packedLines(input: ReserveInput, plan: number): string {
  const amounts = input.plans[plan];
  if (amounts === undefined || amounts === "denied") return "";
  const keys = keysOf(input.organisationId);
  return input.budgets
    .flatMap((line, index) => {
      const amount = amounts[index] ?? null;
      return amount === null ? [] : [`${keys.counter(line.budgetId, line.periodId)}|${line.meter}|${amount}`];
    })
    .join(" ");
}
