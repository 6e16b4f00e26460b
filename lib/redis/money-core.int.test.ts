/**
 * Random sequences of reserve, settle, void, expire, renew, grants and time, run on the Redis scripts and on the
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
import { numberAt, runScript } from "./scripts";
import { BUDGETS, LEASE_MS, ModelPair, PERIOD } from "./testing/model-pair";

let store: HotConnection;
let runId: string;
beforeAll(async () => {
  store = connectHot(testRedisUrl());
  await ready(store);
  runId = store.runId() ?? "";
});
afterAll(() => store.close());

const METERS = ["cost", "input_tokens", "output_tokens", "total_tokens", "requests"] as const;
const ENFORCEMENTS = ["enforce", "enforce", "enforce", "warn", "shadow"] as const;

type Command =
  | {
      readonly kind: "reserve";
      readonly id: number;
      readonly plans: readonly (readonly (number | null)[] | "denied")[];
    }
  | { readonly kind: "settle" | "expire"; readonly id: number; readonly cost: number; readonly tokens: number }
  | { readonly kind: "void" | "renew"; readonly id: number }
  | {
      readonly kind: "limit";
      readonly budget: number;
      readonly limit: number;
      readonly overflow: number;
      readonly frozen: boolean;
    }
  | { readonly kind: "grant"; readonly budget: number; readonly amount: number; readonly forMs: number }
  | { readonly kind: "tick"; readonly ms: number };

/** Tens: sums meet limits and rungs exactly, which is where a comparison can be wrong. */
const amounts = fc.constantFrom(0, 10, 20, 30, 50, 100);
const scales = fc.constantFrom(1n, 1_000_000_007n, 9_007_199_254_740_993n);

const commandArbitrary: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant("reserve" as const),
      id: fc.nat(11),
      plans: fc.array(
        fc.oneof(
          {
            weight: 4,
            arbitrary: fc.tuple(...Array.from({ length: BUDGETS }, () => fc.option(amounts, { freq: 5 }))),
          },
          { weight: 1, arbitrary: fc.constant("denied" as const) },
        ),
        { minLength: 1, maxLength: 4 },
      ),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constantFrom("settle" as const, "expire" as const),
      id: fc.nat(11),
      cost: amounts,
      tokens: amounts,
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom("void" as const, "renew" as const), id: fc.nat(11) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("limit" as const),
      budget: fc.nat(BUDGETS - 1),
      limit: fc.constantFrom(0, 10, 50, 100, 200),
      overflow: fc.constantFrom(0, 10, 50),
      frozen: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("grant" as const),
      budget: fc.nat(BUDGETS - 1),
      amount: amounts,
      forMs: fc.integer({ min: 1, max: 400 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("tick" as const), ms: fc.nat(150) }) },
);

const lineArbitrary = fc.record({
  meter: fc.constantFrom(...METERS),
  enforcement: fc.constantFrom(...ENFORCEMENTS),
  steps: fc
    .uniqueArray(
      fc.record({
        atBasisPoints: fc.oneof(
          fc.constantFrom(0, 1000, 3000, 5000, 9000, 10_000),
          fc.integer({ min: 0, max: 12_000 }),
        ),
        plan: fc.nat(3),
      }),
      {
        maxLength: 4,
        selector: (step) => step.atBasisPoints,
      },
    )
    .map((steps) => steps.sort((a, b) => a.atBasisPoints - b.atBasisPoints)),
  overflowPlan: fc.option(fc.nat(1)),
});

const CODES: Readonly<Record<string, string>> = { unknown_budget: "unknown" };

async function run(pair: ModelPair, command: Command, scale: bigint): Promise<void> {
  const idOf = (id: number) => `r${String(id)}:0`;
  switch (command.kind) {
    case "reserve": {
      const plans = command.plans.map((plan): ReservePlan =>
        plan === "denied" ? plan : plan.map((amount) => (amount === null ? null : BigInt(amount) * scale)),
      );
      // Plan 0 always serves, as decide() makes it.
      if (plans[0] === "denied") plans[0] = [1n, 1n, 1n];
      const padded = [...plans, ...Array.from({ length: 4 - plans.length }, () => "denied" as const)];
      const { model, script } = await pair.reserve(idOf(command.id), padded);
      if (script === "already") expect(model.code).toBe("already");
      else {
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
      return;
    }
    case "settle":
    case "expire":
      return pair.end(command.kind, idOf(command.id), BigInt(command.cost) * scale, command.tokens);
    case "void": {
      const known = pair.model.reservations.has(idOf(command.id));
      // An id never seen gets a tombstone in Redis, by design; the model has no such id to compare.
      if (!known) return;
      const model = pair.model.void(idOf(command.id));
      const { keys } = pair;
      const reply = await runScript(
        store.redis,
        "void",
        [keys.reservation(idOf(command.id)), keys.generation, keys.deadlines],
        [idOf(command.id), runId],
      );
      expect({ 0: "done", 1: "already", 2: "nothing" }[numberAt(reply, 0)]).toBe(model);
      return;
    }
    case "renew": {
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
            // A settle of an id never reserved marks it in Redis so that it is booked late once: not the model's business.
            const isUnknown =
              "id" in command && command.kind !== "reserve" && !pair.model.reservations.has(`r${String(command.id)}:0`);
            if (isUnknown) continue;
            await run(pair, command, scale);
            await pair.agree();
          }
        },
      ),
      { numRuns: 120 },
    );
  }, 120_000);

  it("refuses amounts that a 64-bit counter cannot hold, before anything is written", async () => {
    const pair = new ModelPair(store, [{ meter: "cost", enforcement: "shadow", steps: [], overflowPlan: null }], 1n);
    await pair.begin();
    const { model, script } = await pair.reserve("r0:0", [[MAX_COUNTER]]);
    expect(model.code).toBe("too_large");
    expect(script).toMatchObject({ code: "too_large" });
    await pair.agree();
  });

  it("never lets a hold follow its own void: a reserve whose answer was lost cannot charge later", async () => {
    const pair = new ModelPair(store, [{ meter: "cost", enforcement: "enforce", steps: [], overflowPlan: null }], 1n);
    await pair.begin();
    const { keys } = pair;
    await runScript(store.redis, "void", [keys.reservation("r1:0"), keys.generation, keys.deadlines], ["r1:0", runId]);
    await expect(pair.reserve("r1:0", [[5n]])).resolves.toMatchObject({ script: "already" });
    expect(await store.redis.hget(keys.counter("b0", PERIOD), "h")).toBeNull();
  });

  it("answers nothing but fenced to a process that was proved on another server", async () => {
    const pair = new ModelPair(store, [{ meter: "cost", enforcement: "enforce", steps: [], overflowPlan: null }], 1n);
    await pair.begin();
    await store.redis.set(pair.keys.generation, "another");
    const { script } = await pair.reserve("r2:0", [[5n]]);
    expect(script).toEqual({ code: "fenced" });
  });
});
