/** One session under two policies, as where calls of one app are booked on consumers that have policies of their own. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { ReserveInput } from "@/lib/gateway/ports";
import { ready } from "@/lib/testing/running-gateway";
import { testRedisUrl } from "@/lib/testing/services";
import type { HotConnection } from "./client";
import { connectHot } from "./client";
import { keysOf } from "./keys";
import { reserveCommand, reserveOutcome, reserveWords } from "./reserve-command";
import { runScript } from "./scripts";

let store: HotConnection;
beforeAll(async () => {
  store = connectHot(testRedisUrl());
  await ready(store);
});
afterAll(() => store.close());

interface Call {
  readonly limit: string;
  readonly idleMs: number;
  readonly asks: string;
}

/** One batch of calls of a new session: the code of each answer, then what its counter holds and how long it lives. */
async function reserve(calls: readonly Call[]) {
  const organisationId = `s${randomBytes(6).toString("hex")}`;
  const keys = keysOf(organisationId);
  const runId = store.runId() ?? "";
  await store.redis.mset(keys.epoch, "7", keys.generation, runId);
  const line = { budgetId: "s", periodId: "", enforcement: "enforce", rungs: "", overflowPlan: null } as const;
  const inputs = calls.map(({ limit, idleMs, asks }, index): ReserveInput => ({
    organisationId,
    reservationId: `r${String(index)}:0`,
    ...{ epoch: "7", windowStartMs: 0, windowEndMs: Number.MAX_SAFE_INTEGER },
    budgets: [{ ...line, meter: "cost", session: { limit, idleMs } }],
    plans: [[asks]],
    ...{ rateLimits: [], askedTokens: 0, previous: null },
    head: { opening: "{", call: "", servings: [""], held: [""] },
  }));
  const command = reserveCommand(inputs, runId, 60_000, "1000000");
  const replies = await runScript(store.redis, "reserve", command.keys, command.args);
  const outcomes = (replies as string[]).map((reply) => reserveOutcome(reserveWords(reply)));
  const counter = keys.session("s", "cost");
  return { outcomes, held: await store.redis.hget(counter, "h"), livesMs: await store.redis.pttl(counter) };
}

const HUGE = "9000000000000000000";

it.each([
  ["the larger limit first", "100", "50"],
  ["the larger limit beyond what doubles hold", HUGE, "50"],
])("each call of a batch is judged by its own limit: %s", async (_name, large, small) => {
  const ample = { limit: large, idleMs: 60_000, asks: "40" };
  const scarce = { limit: small, idleMs: 600_000, asks: "20" };
  const first = await reserve([ample, scarce, ample]);
  expect(first.outcomes).toMatchObject([
    { code: "reserved" },
    { code: "exhausted", binding: { limit: BigInt(small), held: 40n } },
    { code: "reserved" },
  ]);
  expect(first.held).toBe("80");
  const second = await reserve([scarce, ample, scarce]);
  expect(second.outcomes.map(({ code }) => code)).toEqual(["reserved", "reserved", "exhausted"]);
  expect(second.held).toBe("60");
  expect(second.livesMs).toBeGreaterThan(60_000);
});
