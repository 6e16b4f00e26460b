/**
 * Random sequences of reserve, extend, settle, void, expire, renew, grants and time, run on the Redis scripts and on the
 * reference model: every answer and every counter must agree, and the laws must hold after each step.
 */
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ReservePlan } from "@/lib/domain/reservation";
import { MAX_COUNTER } from "@/lib/domain/reservation";
import { ready } from "@/lib/testing/running-gateway";
import { testRedisUrl } from "@/lib/testing/services";
import type { HotConnection } from "./client";
import { connectHot } from "./client";
import { runScript } from "./scripts";
import type { CallCommand, Command } from "./testing/money-commands";
import { commandArbitrary, lineArbitrary, scales } from "./testing/money-commands";
import type { PairCall, ReservePair } from "./testing/model-pair";
import { BUDGETS, LEASE_MS, ModelPair, PERIOD } from "./testing/model-pair";

let store: HotConnection;
beforeAll(async () => {
  store = connectHot(testRedisUrl());
  await ready(store);
});
afterAll(() => store.close());

const CODES: Readonly<Record<string, string>> = { unknown_budget: "unknown" };
const idOf = (id: number) => `r${String(id)}:0`;

function callOf({ id, plans: raw }: CallCommand, scale: bigint): PairCall {
  const plans = raw.map((plan): ReservePlan =>
    plan === "denied" ? plan : plan.map((amount) => (amount === null ? null : BigInt(amount) * scale)),
  );
  // Plan 0 always serves, as decide() makes it.
  if (plans[0] === "denied") plans[0] = [1n, 1n, 1n];
  return { id: idOf(id), plans: [...plans, ...Array.from({ length: 4 - plans.length }, () => "denied" as const)] };
}

function agreeOnCall({ model, script }: ReservePair): void {
  if (script === "already") {
    expect(model.code).toBe("already");
    return;
  }
  expect(CODES[script.code] ?? script.code).toBe(model.code);
  if (script.code === "reserved" && model.code === "reserved") {
    expect([script.plan, script.rungBasisPoints, script.isOverflow]).toEqual([
      model.plan,
      model.rung,
      model.isOverflow,
    ]);
  }
  if (script.code === "rung" && model.code === "rung") expect(script.plan).toBe(model.plan);
}

async function run(pair: ModelPair, command: Command, scale: bigint): Promise<void> {
  const isKnown = (id: number) => pair.model.reservations.has(idOf(id));
  switch (command.kind) {
    case "reserve": {
      const answers = await pair.reserve(command.calls.map((call) => callOf(call, scale)));
      answers.forEach(agreeOnCall);
      return;
    }
    case "conclude": {
      // An id never seen gets a marker in Redis, by design: not the model's business.
      const known = command.ends.filter(({ id }) => isKnown(id));
      if (known.length === 0) return;
      const answers = await pair.conclude(
        known.map(({ id, isVoid, cost, tokens }) => ({
          id: idOf(id),
          settled: isVoid ? null : { cost: BigInt(cost) * scale, tokens },
        })),
      );
      // A late settle leaves a marker; the model keeps the first state. Both touch no counter.
      for (const { model, script } of answers) expect(script === "done").toBe(model === "done");
      return;
    }
    case "extend": {
      if (!isKnown(command.id)) return;
      const more = command.amounts.map((amount) => (amount === null ? null : BigInt(amount) * scale));
      const { model, script } = await pair.extend(idOf(command.id), command.beyond, more);
      if (model.code === "extended" || model.code === "already") {
        expect(script).toEqual({ code: "extended", isOverflow: model.isOverflow });
        return;
      }
      expect(CODES[script.code] ?? script.code).toBe(model.code);
      if (script.code === "exhausted" && model.code === "exhausted") expect(script.binding.budget).toBe(model.budget);
      return;
    }
    case "expire": {
      if (!isKnown(command.id)) return;
      const { model, script } = await pair.expire(idOf(command.id), BigInt(command.cost) * scale, command.tokens);
      expect({ expired: "done", not_due: "not_due", nothing: "nothing", fenced: "fenced" }[script]).toBe(model);
      return;
    }
    case "renew": {
      if (!isKnown(command.id)) return;
      const { keys } = pair;
      const isOpen = pair.model.renew(idOf(command.id), LEASE_MS);
      const reply = await runScript(
        store.redis,
        "renew",
        [keys.epoch, keys.generation, keys.booked, keys.gateways, keys.deadlines, keys.reservation(idOf(command.id))],
        ["gw", String(pair.model.nowMs), "1000", String(LEASE_MS), idOf(command.id), ""],
      );
      expect(reply.length === 4).toBe(isOpen);
      return;
    }
    case "limit":
      return pair.setLimit(
        command.budget,
        BigInt(command.limit) * scale,
        BigInt(command.overflow) * scale,
        command.frozen,
      );
    case "grant":
      return pair.grant(command.budget, BigInt(command.amount) * scale, command.forMs);
    case "end sessions":
      return pair.endSessions();
    case "tick":
      pair.model.nowMs += command.ms;
  }
}

describe("money core", () => {
  it("does what the model does for any sequence, and never admits beyond limit, grants and overflow", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.tuple(...Array.from({ length: BUDGETS }, () => lineArbitrary)),
        scales,
        fc.array(commandArbitrary, { minLength: 5, maxLength: 60 }),
        async (lines, scale, commands) => {
          const pair = new ModelPair(store, lines, scale);
          await pair.begin();
          for (const command of commands) {
            await run(pair, command, scale);
            await pair.agree();
          }
        },
      ),
      { numRuns: 300 },
    );
  }, 120_000);

  it("refuses amounts that a 64-bit counter cannot hold, before anything is written", async () => {
    const pair = new ModelPair(store, [{ meter: "cost", enforcement: "shadow", steps: [], overflowPlan: null }], 1n);
    await pair.begin();
    const [answer] = await pair.reserve([{ id: "r0:0", plans: [[MAX_COUNTER]] }]);
    expect(answer).toMatchObject({ model: { code: "too_large" }, script: { code: "too_large" } });
    await pair.agree();
  });

  it("never lets a hold follow its own void: a reserve whose answer was lost cannot charge later", async () => {
    const pair = new ModelPair(store, [{ meter: "cost", enforcement: "enforce", steps: [], overflowPlan: null }], 1n);
    await pair.begin();
    await pair.conclude([{ id: "r1:0", settled: null }]);
    expect(await pair.reserve([{ id: "r1:0", plans: [[5n]] }])).toMatchObject([{ script: "already" }]);
    expect(await store.redis.hget(pair.keys.counter("b0", PERIOD), "h")).toBeNull();
  });

  it("holds more on a budget that is gone where it is enforced no longer, and refuses where it is", async () => {
    const line = { meter: "cost", enforcement: "warn", steps: [], overflowPlan: null } as const;
    for (const [enforcement, code] of [
      ["warn", "extended"],
      ["enforce", "unknown"],
    ] as const) {
      const pair = new ModelPair(store, [{ ...line, enforcement }], 1n);
      await pair.begin();
      await pair.reserve([{ id: "r4:0", plans: [[60n]] }]);
      pair.model.budgets.delete("b0");
      await store.redis.del(pair.keys.limit("b0"));
      const { model, script } = await pair.extend("r4:0", 1, [5n]);
      expect([model.code, CODES[script.code] ?? script.code]).toEqual([code, code]);
      await pair.agree();
      await pair.conclude([{ id: "r4:0", settled: null }]);
      await pair.agree();
    }
  });

  it("gives nothing back to a session that is over, and makes no counter of it anew", async () => {
    const session = { meter: "cost", enforcement: "enforce", steps: [], overflowPlan: null, session: 100n } as const;
    const pair = new ModelPair(store, [session], 1n);
    await pair.begin();
    await pair.reserve([{ id: "r3:0", plans: [[60n]] }]);
    const key = pair.keys.session("b0", "cost");
    expect(await store.redis.hget(key, "h")).toBe("60");
    await store.redis.del(key);
    await pair.conclude([{ id: "r3:0", settled: { cost: 50n, tokens: 1 } }]);
    expect(await store.redis.exists(key)).toBe(0);
  });

  it("answers nothing but fenced to a process that was proved on another server", async () => {
    const pair = new ModelPair(store, [{ meter: "cost", enforcement: "enforce", steps: [], overflowPlan: null }], 1n);
    await pair.begin();
    await store.redis.set(pair.keys.generation, "another");
    expect(await pair.reserve([{ id: "r2:0", plans: [[5n]] }])).toMatchObject([{ script: { code: "fenced" } }]);
  });
});
