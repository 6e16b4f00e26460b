/** One random sequence on both sides: the reference model and the Redis scripts. */
import { randomBytes } from "node:crypto";
import { expect } from "vitest";
import { meterAmounts } from "@/lib/domain/lines";
import type { ReserveBudget, ReservePlan, ReserveResult } from "@/lib/domain/reservation";
import { counterKey, ReservationModel } from "@/lib/domain/reservation";
import type { ReserveInput, ReserveOutcome } from "@/lib/gateway/ports";
import type { HotConnection } from "../client";
import { keysOf } from "../keys";
import { reserveArguments, reserveKeys, reserveOutcome } from "../reserve-command";
import { numberAt, runScript } from "../scripts";

export const PERIOD = "D2026-01-01";
export const BUDGETS = 3;
export const LEASE_MS = 100;

/** Both sides of one sequence. */
export class ModelPair {
  readonly model = new ReservationModel();
  readonly organisationId = `m${randomBytes(6).toString("hex")}`;
  readonly keys = keysOf(this.organisationId);
  readonly lines: readonly ReserveBudget[];
  readonly runId: string;

  constructor(
    private readonly store: HotConnection,
    lines: readonly Omit<ReserveBudget, "budgetId" | "periodId">[],
    private readonly scale: bigint,
  ) {
    this.lines = lines.map((line, index) => ({ ...line, budgetId: `b${String(index)}`, periodId: PERIOD }));
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

  async reserve(
    id: string,
    plans: readonly ReservePlan[],
  ): Promise<{ model: ReserveResult; script: ReserveOutcome | "already" }> {
    const model = this.model.reserve({ reservationId: id, leaseMs: LEASE_MS, budgets: this.lines, plans });
    const input: ReserveInput = {
      organisationId: this.organisationId,
      reservationId: id,
      epoch: "7",
      windowStartMs: 0,
      windowEndMs: Number.MAX_SAFE_INTEGER,
      budgets: this.lines.map((line) => ({
        ...line,
        rungs: line.steps.map((step) => `${String(step.atBasisPoints)}:${String(step.plan)}`).join(","),
      })),
      plans: plans.map((plan) =>
        plan === "denied" ? plan : plan.map((amount) => (amount === null ? null : String(amount))),
      ),
      rateLimits: [],
      askedTokens: 0,
      headJson: "{}",
      headPatches: plans.map(() => ""),
      previous: null,
    };
    const reply = await runScript(
      this.store.redis,
      "reserve",
      reserveKeys(input),
      reserveArguments(input, this.runId, LEASE_MS, String(this.model.nowMs)),
    );
    return { model, script: numberAt(reply, 0) === 1 ? "already" : reserveOutcome(reply) };
  }

  async end(kind: "settle" | "expire", id: string, cost: bigint, tokens: number): Promise<void> {
    const amounts = meterAmounts(cost, tokens, tokens);
    const texts = [cost, amounts.input_tokens, amounts.output_tokens, amounts.total_tokens].map(String);
    const keys = [
      this.keys.reservation(id),
      this.keys.generation,
      this.keys.deadlines,
      this.keys.usage,
      this.keys.book("d"),
    ];
    if (kind === "settle") {
      const model = this.model.settle(id, amounts);
      const reply = await runScript(this.store.redis, "settle", keys, [
        id,
        this.runId,
        ...texts,
        "USD",
        texts[0] ?? "0",
        "{}",
      ]);
      // A late settle leaves a marker; the model keeps the first state. Both touch no counter.
      expect([0, 1, 2, 4].indexOf(numberAt(reply, 0)) >= 0).toBe(true);
      expect(numberAt(reply, 0) === 0).toBe(model === "done");
      return;
    }
    const model = this.model.expire(id, amounts);
    const reply = await runScript(this.store.redis, "expire", keys, [
      id,
      this.runId,
      String(this.model.nowMs),
      ...texts,
      "USD",
      texts[0] ?? "0",
      "{}",
    ]);
    expect({ 0: "done", 1: "not_due", 2: "nothing" }[numberAt(reply, 0)]).toBe(model);
  }

  async agree(): Promise<void> {
    for (const line of this.lines) {
      const [settled, held] = await this.store.redis.hmget(this.keys.counter(line.budgetId, PERIOD), "s", "h");
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
