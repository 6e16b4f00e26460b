/**
 * Reference model of the money core: what the Redis scripts must do, in plain code on bigints. Random sequences run
 * against both (lib/redis/money-core.int.test.ts). States: pending, then exactly one of settled, voided, expired.
 */
import type { Enforcement, Meter } from "./snapshot";

export interface ModelBudget {
  limit: bigint;
  overflow: bigint;
  isFrozen: boolean;
  grants: { periodId: string; amount: bigint; startsMs: number; endsMs: number }[];
}

export interface ReserveBudget {
  readonly budgetId: string;
  readonly periodId: string;
  readonly meter: Meter;
  readonly enforcement: Enforcement;
  readonly steps: readonly { readonly atBasisPoints: number; readonly plan: number }[];
  readonly overflowPlan: number | null;
  /** Of what a session may use: its limit, which stands nowhere else. */
  readonly session?: bigint;
  /** It is of what serves, not of who calls: where it has no room the plan may be served elsewhere. */
  readonly isOfTarget?: boolean;
}

/** Amounts by budget position (null: not charged by this plan), or a denial. */
export type ReservePlan = readonly (bigint | null)[] | "denied";

export interface ReserveCommand {
  readonly reservationId: string;
  readonly leaseMs: number;
  readonly budgets: readonly ReserveBudget[];
  readonly plans: readonly ReservePlan[];
}

export type ReserveResult =
  | { readonly code: "reserved"; readonly plan: number; readonly rung: number; readonly isOverflow: boolean }
  | { readonly code: "already"; readonly state: ReservationState }
  | { readonly code: "rung"; readonly plan: number; readonly budget: number }
  | { readonly code: "exhausted"; readonly budget: number }
  | { readonly code: "frozen"; readonly budget: number }
  | { readonly code: "too_large"; readonly budget: number }
  | { readonly code: "unknown"; readonly budget: number };

/** What a stream asks for before it passes on what that pays for. */
export interface ExtendCommand {
  readonly reservationId: string;
  /** Of the reservation's extensions, from 1. */
  readonly sequence: number;
  /** Those of the reserve, as they are enforced now. */
  readonly budgets: readonly ReserveBudget[];
  /** What each is to hold more, by position; null and nothing say the same. */
  readonly amounts: readonly (bigint | null)[];
}

export type ExtendResult =
  | { readonly code: "extended" | "already"; readonly isOverflow: boolean }
  /** Not open, or without the extension before this one. */
  | { readonly code: "ended" }
  | { readonly code: "exhausted" | "frozen" | "too_large" | "unknown"; readonly budget: number };

export type ReservationState = "pending" | "settled" | "voided" | "expired";
export type ResolveResult = "done" | "already" | "late" | "nothing" | "not_due";

interface ModelReservation {
  state: ReservationState;
  deadlineMs: number;
  /** Number of the last extension. */
  sequence: number;
  isOverflow: boolean;
  readonly lines: readonly { key: string; meter: Meter; position: number; held: bigint }[];
}

export interface ModelCounter {
  settled: bigint;
  held: bigint;
}

/** Amounts a script accepts stay below this, so that HINCRBY cannot overflow half-way. */
export const MAX_COUNTER = 9_223_372_036_000_000_000n;

interface BudgetView {
  readonly used: bigint;
  readonly limit: bigint;
  readonly withOverflow: bigint;
  readonly rung: number;
  readonly plan: number;
}

export function counterKey(budgetId: string, periodId: string): string {
  return `${budgetId}:${periodId}`;
}

export class ReservationModel {
  readonly budgets = new Map<string, ModelBudget>();
  readonly counters = new Map<string, ModelCounter>();
  readonly reservations = new Map<string, ModelReservation>();
  nowMs = 0;

  counter(budgetId: string, periodId: string): ModelCounter {
    const key = counterKey(budgetId, periodId);
    const known = this.counters.get(key);
    if (known) return known;
    const fresh = { settled: 0n, held: 0n };
    this.counters.set(key, fresh);
    return fresh;
  }

  private budgetOf({ budgetId, session }: ReserveBudget): ModelBudget | undefined {
    if (session === undefined) return this.budgets.get(budgetId);
    return { limit: session, overflow: 0n, isFrozen: false, grants: [] };
  }

  private view(line: ReserveBudget): BudgetView | undefined {
    const budget = this.budgetOf(line);
    if (!budget) return undefined;
    const counter = this.counter(line.budgetId, line.periodId);
    const used = counter.settled + counter.held;
    const granted = budget.grants
      .filter((grant) => grant.periodId === line.periodId && this.nowMs >= grant.startsMs && this.nowMs < grant.endsMs)
      .reduce((sum, grant) => sum + grant.amount, 0n);
    const limit = budget.limit + granted;
    let rung = 0;
    let plan = 0;
    for (const step of line.steps) {
      if (limit === 0n || used * 10_000n >= BigInt(step.atBasisPoints) * limit) {
        rung = step.atBasisPoints;
        plan = step.plan;
      }
    }
    return { used, limit, withOverflow: limit + budget.overflow, rung, plan };
  }

  reserve(command: ReserveCommand): ReserveResult {
    const known = this.reservations.get(command.reservationId);
    if (known) return { code: "already", state: known.state };
    const chosen = this.choosePlan(command);
    if ("code" in chosen) return chosen;
    let plan = chosen.plan;
    const first = this.fit(command, plan);
    let fit = first;
    const isOfTarget = () => fit.short !== null && isTargets(command.budgets[fit.short]);
    while (fit.short !== null && fit.reason === "exhausted" && !isOfTarget() && plan < command.plans.length - 1) {
      plan += 1;
      if (command.plans[plan] !== "denied") fit = this.fit(command, plan);
    }
    const told = isOfTarget() ? fit : first;
    if (fit.short !== null) return { code: told.reason, budget: told.short ?? 0 };
    this.hold(command, plan, fit.isOverflow);
    return { code: "reserved", plan, rung: chosen.rung, isOverflow: fit.isOverflow };
  }

  /** The strictest rung of all budgets the plan charges; a stricter plan may charge others, so look again. */
  private choosePlan(command: ReserveCommand): { plan: number; rung: number } | ReserveResult {
    let plan = 0;
    let rung = 0;
    let binding = 0;
    let examined = -1;
    while (plan !== examined && command.plans[plan] !== "denied") {
      examined = plan;
      for (const [index, line] of command.budgets.entries()) {
        if (!charges(command.plans[examined], index)) continue;
        const view = this.view(line);
        if (!view) return { code: "unknown", budget: index };
        if (line.enforcement !== "enforce") continue;
        if (this.budgetOf(line)?.isFrozen) return { code: "frozen", budget: index };
        const mayOverflow = view.rung >= 10_000 && line.overflowPlan !== null && command.plans[view.plan] === "denied";
        const wanted = mayOverflow ? (line.overflowPlan ?? 0) : view.plan;
        rung = Math.max(rung, view.rung);
        if (wanted > plan) {
          plan = wanted;
          binding = index;
        }
      }
    }
    return command.plans[plan] === "denied" ? { code: "rung", plan, budget: binding } : { plan, rung };
  }

  private fit(
    command: ReserveCommand,
    plan: number,
  ): { short: number | null; reason: "exhausted" | "frozen" | "too_large" | "unknown"; isOverflow: boolean } {
    let isOverflow = false;
    for (const [index, line] of command.budgets.entries()) {
      const amount = amountOf(command.plans[plan], index);
      if (amount === null) continue;
      const view = this.view(line);
      if (!view) return { short: index, reason: "unknown", isOverflow };
      const isEnforced = line.enforcement === "enforce";
      if (isEnforced && this.budgetOf(line)?.isFrozen) return { short: index, reason: "frozen", isOverflow };
      const total = view.used + amount;
      if (total >= MAX_COUNTER) return { short: index, reason: "too_large", isOverflow };
      if (!isEnforced || total <= view.limit) continue;
      if (line.overflowPlan === null || total > view.withOverflow)
        return { short: index, reason: "exhausted", isOverflow };
      isOverflow = true;
    }
    return { short: null, reason: "exhausted", isOverflow };
  }

  private hold(command: ReserveCommand, plan: number, isOverflow: boolean): void {
    const lines = command.budgets.flatMap((line, index) => {
      const amount = amountOf(command.plans[plan], index);
      if (amount === null) return [];
      this.counter(line.budgetId, line.periodId).held += amount;
      return [{ key: counterKey(line.budgetId, line.periodId), meter: line.meter, position: index, held: amount }];
    });
    const deadlineMs = this.nowMs + command.leaseMs;
    this.reservations.set(command.reservationId, { state: "pending", deadlineMs, sequence: 0, isOverflow, lines });
  }

  /** Raises what a pending reservation holds, on every budget that it charges or on none. Rungs are not asked again. */
  extend(command: ExtendCommand): ExtendResult {
    const reservation = this.reservations.get(command.reservationId);
    if (reservation?.state !== "pending") return { code: "ended" };
    if (command.sequence <= reservation.sequence) return { code: "already", isOverflow: reservation.isOverflow };
    if (command.sequence !== reservation.sequence + 1) return { code: "ended" };
    let { isOverflow } = reservation;
    for (const { position } of reservation.lines) {
      const line = command.budgets[position];
      const view = line && this.view(line);
      const isEnforced = line?.enforcement === "enforce";
      if (!view && !isEnforced) continue;
      if (!view) return { code: "unknown", budget: position };
      if (isEnforced && this.budgetOf(line)?.isFrozen) return { code: "frozen", budget: position };
      const amount = command.amounts[position] ?? 0n;
      const total = view.used + amount;
      // Of which nothing more is wanted: it needs no room.
      if (amount === 0n) continue;
      if (total >= MAX_COUNTER) return { code: "too_large", budget: position };
      if (!isEnforced || total <= view.limit) continue;
      if (line.overflowPlan === null || total > view.withOverflow) return { code: "exhausted", budget: position };
      isOverflow = true;
    }
    for (const line of reservation.lines) {
      const amount = command.amounts[line.position] ?? 0n;
      line.held += amount;
      const counter = this.counters.get(line.key);
      if (counter) counter.held += amount;
    }
    reservation.isOverflow = isOverflow;
    reservation.sequence = command.sequence;
    return { code: "extended", isOverflow };
  }

  private resolve(
    reservation: ModelReservation,
    state: ReservationState,
    actual: Readonly<Record<Meter, bigint>> | null,
  ): void {
    for (const line of reservation.lines) {
      const counter = this.counters.get(line.key);
      if (!counter) continue;
      counter.held -= line.held;
      if (actual) counter.settled += actual[line.meter];
    }
    reservation.state = state;
  }

  settle(reservationId: string, actual: Readonly<Record<Meter, bigint>>): ResolveResult {
    const reservation = this.reservations.get(reservationId);
    if (reservation?.state === "settled") return "already";
    if (reservation?.state !== "pending") return "late";
    this.resolve(reservation, "settled", actual);
    return "done";
  }

  void(reservationId: string): ResolveResult {
    const reservation = this.reservations.get(reservationId);
    if (reservation?.state === "voided") return "already";
    if (reservation?.state !== "pending") return "nothing";
    this.resolve(reservation, "voided", null);
    return "done";
  }

  renew(reservationId: string, leaseMs: number): boolean {
    const reservation = this.reservations.get(reservationId);
    if (reservation?.state !== "pending") return false;
    reservation.deadlineMs = this.nowMs + leaseMs;
    return true;
  }

  expire(reservationId: string, actual: Readonly<Record<Meter, bigint>>): ResolveResult {
    const reservation = this.reservations.get(reservationId);
    if (reservation?.state !== "pending") return "nothing";
    if (reservation.deadlineMs > this.nowMs) return "not_due";
    this.resolve(reservation, "expired", actual);
    return "done";
  }
}

function amountOf(plan: ReservePlan | undefined, index: number): bigint | null {
  return plan === undefined || plan === "denied" ? null : (plan[index] ?? null);
}

function isTargets(line: ReserveBudget | undefined): boolean {
  return line?.isOfTarget === true && line.enforcement === "enforce";
}

function charges(plan: ReservePlan | undefined, index: number): boolean {
  return amountOf(plan, index) !== null;
}
