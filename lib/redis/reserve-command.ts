/** ReserveInput to the keys and arguments of reserve-n.lua, and its reply back. */
import { invariant } from "@/lib/domain/fault";
import type { BudgetReading, ReserveInput, ReserveOutcome } from "@/lib/gateway/ports";
import { keysOf } from "./keys";
import type { ScriptReply } from "./scripts";
import { numberAt, textAt } from "./scripts";

const MINUTE_MICROS = 60_000_000;
const ENFORCEMENT_LETTER = { enforce: "e", warn: "w", shadow: "s" } as const;

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
  for (const line of input.budgets) list.push(keys.counter(line.budgetId, line.periodId), keys.limit(line.budgetId));
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

export function reserveArguments(input: ReserveInput, runId: string, leaseMs: number, nowMs: string): string[] {
  const args = [
    input.reservationId,
    input.epoch,
    runId,
    nowMs,
    String(leaseMs),
    String(input.windowStartMs),
    String(input.windowEndMs),
    input.headJson,
    String(input.budgets.length),
    String(input.plans.length),
    String(input.rateLimits.length),
    input.previous?.resolution === "void" ? "void" : "",
    input.previous?.reservationId ?? "",
  ];
  for (const line of input.budgets) {
    args.push(ENFORCEMENT_LETTER[line.enforcement], line.periodId, line.meter, line.rungs, optional(line.overflowPlan));
  }
  for (const [index, plan] of input.plans.entries()) {
    if (plan === "denied") {
      args.push("d");
      continue;
    }
    invariant(plan.length === input.budgets.length, "a plan has an amount or null for every budget");
    args.push("r", input.headPatches[index] ?? "");
    for (const amount of plan) args.push(amount ?? "-");
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
