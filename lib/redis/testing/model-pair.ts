/** One random sequence on both sides: the reference model and the Redis scripts. */
import { randomBytes } from "node:crypto";
import { expect } from "vitest";
import { meterAmounts } from "@/lib/domain/lines";
import type { ExtendResult, ReserveBudget, ReservePlan, ReserveResult, ResolveResult } from "@/lib/domain/reservation";
import { counterKey, ReservationModel } from "@/lib/domain/reservation";
import type { ExtendOutcome, ReserveInput, ReserveOutcome } from "@/lib/gateway/ports";
import type { HotConnection } from "../client";
import type { Concluded } from "../conclude-command";
import { concludeCommand, concludedOf } from "../conclude-command";
import { extendCommand, extendOutcome } from "../extend-command";
import { keysOf } from "../keys";
import { reserveCommand, reserveOutcome, reserveWords } from "../reserve-command";
import { numberAt, runScript, runTextScript } from "../scripts";
import type { ExpireOutcome } from "../sweeper";
import { expireReservation, readReservations } from "../sweeper";

/** One call of a batch: its reservation and what it asks of each plan. */
export interface PairCall {
  readonly id: string;
  readonly plans: readonly ReservePlan[];
}

/** One end of a batch: cost and tokens of a settlement, or nothing for a void. */
export interface PairEnd {
  readonly id: string;
  readonly settled: { readonly cost: bigint; readonly tokens: number } | null;
}

export const PERIOD = "D2026-01-01";
export const BUDGETS = 3;
export const LEASE_MS = 100;
export const SESSION_IDLE_MS = 600_000;
/** What a session may use has no ladder and no overflow, and is always enforced. */
const OF_SESSION = { enforcement: "enforce", steps: [], overflowPlan: null } as const;

export interface ReservePair {
  readonly model: ReserveResult;
  readonly script: ReserveOutcome | "already";
}

/** One call, or many that were held as one. */
function requestsOf(tokens: number): number {
  return (tokens % 3) + 1;
}

/** Both sides of one sequence. */
export class ModelPair {
  readonly model = new ReservationModel();
  readonly organisationId = `m${randomBytes(6).toString("hex")}`;
  readonly keys = keysOf(this.organisationId);
  readonly lines: readonly ReserveBudget[];
  readonly runId: string;
  /** Everything that was settled, as the book of the day must say. */
  private book = 0n;
  private readonly terms: readonly ReserveInput["budgets"][];

  constructor(
    private readonly store: HotConnection,
    lines: readonly Omit<ReserveBudget, "budgetId" | "periodId">[],
    private readonly scale: bigint,
  ) {
    this.lines = lines.map((line, index) => ({
      ...line,
      // A line is of the caller, of the target or of a session.
      ...(line.session === undefined ? {} : { ...OF_SESSION, isOfTarget: false, session: line.session * scale }),
      budgetId: `b${String(index)}`,
      periodId: PERIOD,
    }));
    this.terms = [0, 1].map(() =>
      this.lines.map(({ session, isOfTarget, ...line }) => ({
        ...line,
        ...(isOfTarget ? { targetId: "prv_1" } : {}),
        rungs: line.steps.map((step) => `${String(step.atBasisPoints)}:${String(step.plan)}`).join(","),
        ...(session === undefined ? {} : { session: { limit: String(session), idleMs: SESSION_IDLE_MS } }),
      })),
    );
    this.model.nowMs = 1_000_000;
    this.runId = store.runId() ?? "";
  }

  async begin(): Promise<void> {
    await this.store.redis.mset(this.keys.epoch, "7", this.keys.generation, this.runId);
    for (let index = 0; index < BUDGETS; index += 1)
      await this.setLimit(index, 100n * this.scale, 10n * this.scale, false);
  }

  async setLimit(index: number, limit: bigint, overflow: bigint, isFrozen: boolean): Promise<void> {
    const id = `b${String(index)}`;
    const grants = this.model.budgets.get(id)?.grants ?? [];
    this.model.budgets.set(id, { limit, overflow, isFrozen, grants });
    await this.store.redis.hset(
      this.keys.limit(id),
      "l",
      String(limit),
      "o",
      String(overflow),
      "f",
      isFrozen ? "1" : "0",
    );
  }

  async grant(index: number, amount: bigint, forMs: number): Promise<void> {
    const id = `b${String(index)}`;
    const budget = this.model.budgets.get(id);
    if (!budget) return;
    budget.grants.push({ periodId: PERIOD, amount, startsMs: this.model.nowMs, endsMs: this.model.nowMs + forMs });
    const text = budget.grants
      .map((grant) => `${String(grant.amount)},${String(grant.startsMs)},${String(grant.endsMs)}`)
      .join(";");
    await this.store.redis.hset(this.keys.limit(id), `g:${PERIOD}`, text);
  }

  counterOf({ budgetId, meter, session }: ReserveBudget): string {
    return session === undefined ? this.keys.counter(budgetId, PERIOD) : this.keys.session(budgetId, meter);
  }

  /** Sessions that have no open call are over: their counters are gone. */
  async endSessions(): Promise<void> {
    for (const line of this.lines) {
      const key = counterKey(line.budgetId, PERIOD);
      if (line.session === undefined || this.model.counter(line.budgetId, PERIOD).held > 0n) continue;
      this.model.counters.delete(key);
      await this.store.redis.del(this.counterOf(line));
    }
  }

  private inputOf(call: PairCall, terms: number): ReserveInput {
    return {
      organisationId: this.organisationId,
      reservationId: call.id,
      epoch: "7",
      windowStartMs: 0,
      windowEndMs: Number.MAX_SAFE_INTEGER,
      budgets: this.terms[terms] ?? [],
      plans: call.plans.map((plan) =>
        plan === "denied" ? plan : plan.map((amount) => (amount === null ? null : String(amount))),
      ),
      rateLimits: [],
      askedTokens: 0,
      head: { opening: "{", call: "", servings: call.plans.map(() => ""), held: call.plans.map(() => "") },
      previous: null,
    };
  }

  /** On a session a call holds something, as every call does that the gateway lets through. */
  private neverNothing(plan: ReservePlan): ReservePlan {
    if (plan === "denied") return plan;
    return plan.map((amount, index) => (amount === 0n && this.lines[index]?.session !== undefined ? 1n : amount));
  }

  /** One batch of the script, one call after another in the model. Calls alternate between two equal terms. */
  async reserve(asked: readonly PairCall[]): Promise<ReservePair[]> {
    const calls = asked.map(({ id, plans }) => ({ id, plans: plans.map((plan) => this.neverNothing(plan)) }));
    const models = calls.map((call) =>
      this.model.reserve({ reservationId: call.id, leaseMs: LEASE_MS, budgets: this.lines, plans: call.plans }),
    );
    const { keys, args } = reserveCommand(
      calls.map((call, index) => this.inputOf(call, index % 2)),
      this.runId,
      LEASE_MS,
      String(this.model.nowMs),
    );
    const replies = await runScript(this.store.redis, "reserve", keys, args);
    expect(replies).toHaveLength(calls.length);
    return models.map((model, index) => {
      const reply = reserveWords(String(replies[index]));
      return { model, script: numberAt(reply, 0) === 1 ? "already" : reserveOutcome(reply) };
    });
  }

  /** A raise of what one call holds; its number is so many beyond the last one's. */
  async extend(
    id: string,
    beyond: number,
    amounts: readonly (bigint | null)[],
  ): Promise<{ model: ExtendResult; script: ExtendOutcome }> {
    const sequence = (this.model.reservations.get(id)?.sequence ?? 0) + beyond;
    const model = this.model.extend({ reservationId: id, sequence, budgets: this.lines, amounts });
    const { keys, args } = extendCommand(
      {
        organisationId: this.organisationId,
        reservationId: id,
        epoch: "7",
        sequence,
        budgets: this.terms[0] ?? [],
        amounts: amounts.map((amount) => (amount === null ? null : String(amount))),
        headJson: `{"extension":${String(sequence)}}`,
        usage: { inputTokens: 1, outputTokens: sequence, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 },
      },
      this.runId,
      String(this.model.nowMs),
    );
    return { model, script: extendOutcome(await runScript(this.store.redis, "extend", keys, args)) };
  }

  /** One batch of settlements and voids: what the model and what the script say of each. */
  async conclude(ends: readonly PairEnd[]): Promise<{ model: ResolveResult; script: Concluded["outcome"] }[]> {
    const models = ends.map(({ id, settled }) =>
      settled === null
        ? this.model.void(id)
        : this.model.settle(id, meterAmounts(settled.cost, settled.tokens, settled.tokens, requestsOf(settled.tokens))),
    );
    const { keys, args } = concludeCommand(
      this.organisationId,
      ends.map(({ id, settled }) => ({
        reservationId: id,
        settlement: settled && {
          cost: String(settled.cost),
          inputTokens: settled.tokens,
          outputTokens: settled.tokens,
          ...(requestsOf(settled.tokens) === 1 ? {} : { requests: requestsOf(settled.tokens) }),
          priceCurrency: "USD",
          priceAmount: String(settled.cost),
          day: "2026-01-01",
          resultJson: `,"kind":"settled"}`,
        },
        lateHeadJson: "",
      })),
      this.runId,
    );
    const { ends: concluded } = concludedOf(await runTextScript(this.store.redis, "conclude", keys, args));
    expect(concluded).toHaveLength(ends.length);
    for (const [index, { settled }] of ends.entries()) {
      if (settled === null || models[index] !== "done") continue;
      this.book += settled.cost;
      expect(concluded[index]?.streamId).toMatch(/^\d+-\d+$/u);
    }
    return models.map((model, index) => ({ model, script: concluded[index]?.outcome ?? "fenced" }));
  }

  /** What the model and what the script say. */
  async expire(id: string, cost: bigint, tokens: number): Promise<{ model: ResolveResult; script: ExpireOutcome }> {
    const meters = meterAmounts(cost, tokens, tokens, requestsOf(tokens));
    const model = this.model.expire(id, meters);
    const script = await expireReservation(this.store, this.organisationId, {
      reservationId: id,
      meters,
      priceCurrency: "USD",
      priceAmount: String(cost),
      day: "2026-01-01",
      eventJson: "{}",
      nowMs: this.model.nowMs,
    });
    if (model === "done") this.book += cost;
    return { model, script };
  }

  async agree(): Promise<void> {
    expect(BigInt((await this.store.redis.hget(this.keys.book("2026-01-01"), "USD")) ?? "0")).toBe(this.book);
    const open = [...this.model.reservations].filter(([, one]) => one.state === "pending").map(([id]) => id);
    expect(new Set(await this.store.redis.zrange(this.keys.deadlines, 0, -1))).toEqual(new Set(open));
    // What each open reservation says it holds is what the model holds: its end, its expiry and a rebuild go by it.
    for (const stored of await readReservations(this.store, this.organisationId, open)) {
      const reservation = this.model.reservations.get(stored.id);
      const held = stored.lines.map((line) => [counterKey(line.budgetId, line.periodId), line.held]);
      const ofBudgets = reservation?.lines.filter(({ position }) => this.lines[position]?.session === undefined);
      expect(held).toEqual(ofBudgets?.map((line) => [line.key, line.held]));
      expect(stored.isOverflow).toBe(reservation?.isOverflow);
      if (reservation?.sequence) expect(stored.headJson).toBe(`{"extension":${String(reservation.sequence)}}`);
    }
    for (const line of this.lines) {
      const [settled, held] = await this.store.redis.hmget(this.counterOf(line), "s", "h");
      if (line.session !== undefined && held !== null) {
        expect(await this.store.redis.pttl(this.counterOf(line))).toBeGreaterThan(SESSION_IDLE_MS - 60_000);
      }
      const counter = this.model.counters.get(counterKey(line.budgetId, PERIOD)) ?? { settled: 0n, held: 0n };
      expect({ settled: BigInt(settled ?? "0"), held: BigInt(held ?? "0") }).toEqual(counter);
      expect(counter.held >= 0n).toBe(true);
    }
    for (const [key, counter] of this.model.counters) {
      let pending = 0n;
      for (const reservation of this.model.reservations.values()) {
        if (reservation.state !== "pending") continue;
        for (const line of reservation.lines) if (line.key === key) pending += line.held;
      }
      expect(counter.held).toBe(pending);
    }
  }
}
