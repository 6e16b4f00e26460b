import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "@/lib/domain/clock";
import { createBudgetLedger } from "@/lib/redis/budget-ledger";
import { keysOf } from "@/lib/redis/keys";
import { startRedis } from "@/lib/services/redis";
import { throwAwayFolder } from "@/lib/services/throw-away";
import { booksOf, recoveryDeps, reserveFor, reserveInputFor, settleFor } from "@/lib/testing/reservations";
import { bookAll, openBookkeeping } from "@/lib/testing/bookkeeping";
import { connectedStore, insertOrganisationRow, usageEventOf } from "@/lib/testing/usage-events";
import type { BookkeepingDeps } from "./bookkeeping";
import type { RecoveryDeps, RecoveryOutcome } from "./recovery";
import { ensureGeneration, FenceWatch, rebuildOrganisation, recoverOrganisation } from "./recovery";
import { applyCorrections, bookEntries } from "./settlement";

const periodId = `M${new Date().toISOString().slice(0, 7)}`;
let deps: RecoveryDeps;

beforeAll(async () => {
  const bench = await openBookkeeping();
  deps = bench.deps;
  return bench.close;
});

function gatewayOn(on: BookkeepingDeps, gatewayId: string) {
  return createBudgetLedger({ connection: on.store, gatewayId, clock: systemClock, beats: false });
}

async function recover(on: RecoveryDeps, organisationId: string): Promise<RecoveryOutcome[]> {
  const watch = new FenceWatch();
  const outcomes: RecoveryOutcome[] = [];
  for (let step = 0; step < 50; step += 1) {
    const outcome = await recoverOrganisation(on, organisationId, watch);
    outcomes.push(outcome);
    if (outcome === "recovered" || outcome === "sound" || outcome === "waiting") return outcomes;
  }
  return outcomes;
}

describe("an organisation that starts", () => {
  it("is unfenced in one step without waiting for anybody, with its opening amount in the counter", async () => {
    const organisation = await insertOrganisationRow(deps.db, { openingPeriodId: periodId, openingAmount: 300n });
    const patient = { ...deps, graceMs: 60_000 };
    expect(await recover(patient, organisation.organisationId)).toEqual(["recovered"]);
    const keys = keysOf(organisation.organisationId);
    expect(await deps.store.redis.get(keys.generation)).toBe(deps.store.runId());
    expect(await deps.store.redis.hmget(keys.counter(organisation.budgetId, periodId), "s", "o")).toEqual([
      "300",
      "300",
    ]);
    // A push of the same opening afterwards adds nothing.
    await deps.publish(organisation.organisationId, { force: true });
    expect(await deps.store.redis.hget(keys.counter(organisation.budgetId, periodId), "s")).toBe("300");
  });
});

describe("the rebuild command", () => {
  it("makes counters equal ledger plus holds, whatever stood in them", async () => {
    const organisation = await insertOrganisationRow(deps.db, { openingPeriodId: periodId, openingAmount: 50n });
    const { organisationId, budgetId } = organisation;
    const { redis } = deps.store;
    await ensureGeneration(deps, organisationId);
    const gateway = gatewayOn(deps, "gw_rebuild");
    const events = [1_000n, 2_000n, 3_000n].map((amount) => usageEventOf({ ...organisation, amount }));
    for (const event of events) await reserveFor(gateway, redis, event);
    const [first, second] = events;
    if (first && second) for (const event of [first, second]) await settleFor(gateway, event);
    await bookAll(deps, organisationId);
    const keys = keysOf(organisationId);
    expect(await booksOf(deps.db, redis, organisationId, budgetId, periodId)).toMatchObject({
      settled: "3050",
      held: "5000",
    });
    await redis.hset(keys.counter(budgetId, periodId), "s", "77", "h", "88");
    await redis.hset(keys.counter("bud_gone", "M2020-01"), "s", "1");
    await redis.hset(keys.book("2020-01-01"), "USD", "5");
    await rebuildOrganisation(deps, organisationId);
    expect(await booksOf(deps.db, redis, organisationId, budgetId, periodId)).toEqual({
      ledger: 3_000n,
      rollup: 3_000n,
      settled: "3050",
      held: "5000",
      book: 3_000n,
    });
    expect(await redis.exists(keys.counter("bud_gone", "M2020-01"))).toBe(0);
  });

  it("begins sessions anew with what is held on them, for as long as such a call may run", async () => {
    const organisation = await insertOrganisationRow(deps.db);
    const { organisationId } = organisation;
    const { redis } = deps.store;
    await ensureGeneration(deps, organisationId);
    const gateway = gatewayOn(deps, "gw_session");
    const [settled, open] = [usageEventOf({ ...organisation, amount: 1_000n }), usageEventOf(organisation)];
    const session = { limit: "1000000", idleMs: 600_000 };
    for (const event of [settled, open]) {
      const input = await reserveInputFor(redis, event);
      const line = { budgetId: "run-1", periodId: "", meter: "cost", rungs: "", overflowPlan: null, session } as const;
      const budgets = [...input.budgets, { ...line, enforcement: "enforce" as const }];
      const outcome = await gateway.reserve({ ...input, budgets, plans: [["5000", "5000"]] });
      expect(outcome.code).toBe("reserved");
    }
    await settleFor(gateway, settled);
    await bookAll(deps, organisationId);
    const key = keysOf(organisationId).session("run-1", "cost");
    expect(await redis.hmget(key, "s", "h")).toEqual(["1000", "5000"]);
    await rebuildOrganisation(deps, organisationId);
    expect(await redis.hmget(key, "s", "h")).toEqual([null, "5000"]);
    expect(await redis.pttl(key)).toBeGreaterThan(500_000);
  });

  it("counts a correction that no counter has yet exactly once", async () => {
    const organisation = await insertOrganisationRow(deps.db);
    const { organisationId, budgetId } = organisation;
    await ensureGeneration(deps, organisationId);
    const late = usageEventOf({ ...organisation, amount: 700n });
    await bookEntries(deps, organisationId, [{ id: "1-1", kind: "late", eventJson: JSON.stringify(late) }]);
    await rebuildOrganisation(deps, organisationId);
    await applyCorrections(deps, organisationId);
    expect(await booksOf(deps.db, deps.store.redis, organisationId, budgetId, periodId)).toMatchObject({
      settled: "700",
      book: 700n,
    });
  });
});

describe("a Redis restarted from an older copy of its file", () => {
  it("is fenced until gateways have announced, then agrees with the ledger and with every call in flight", async () => {
    const folder = throwAwayFolder("spillway-recovery");
    const copy = throwAwayFolder("spillway-recovery-copy");
    let server = await startRedis({ dataDir: folder, appendonly: true });
    const store = await connectedStore(server.url);
    try {
      const on = recoveryDeps({ ...deps, store });
      const organisation = await insertOrganisationRow(on.db);
      const { organisationId, budgetId } = organisation;
      await ensureGeneration(on, organisationId);
      const gateway = gatewayOn(on, "gw_restart");
      const event = (amount: bigint) => usageEventOf({ ...organisation, amount });
      const [settledBefore, settledAfter, inStream, open, voided, opened, expired] = [
        event(1_000n),
        event(1_100n),
        event(1_200n),
        event(1_300n),
        event(1_400n),
        event(1_500n),
        event(1_600n),
      ] as const;
      for (const one of [settledBefore, settledAfter, inStream, open, voided, expired]) {
        await reserveFor(gateway, store.redis, one);
      }
      await settleFor(gateway, settledBefore);
      await bookAll(on, organisationId);
      await gateway.heartbeat();

      cpSync(join(folder, "appendonlydir"), copy, { recursive: true });

      // All of this is lost by Redis; the ledger keeps what was booked, the gateway what it did.
      await settleFor(gateway, settledAfter);
      await bookAll(on, organisationId);
      await settleFor(gateway, inStream);
      await gateway.void({ organisationId, reservationId: `${voided.requestId}:0` });
      await reserveFor(gateway, store.redis, opened);
      const late = {
        ...expired,
        outcome: "unknown" as const,
        isEstimated: true,
        kind: "expired" as const,
        amount: "5000",
        priceAmount: "5000",
      };
      await bookEntries(on, organisationId, [
        {
          id: "1-1",
          kind: "expired",
          eventJson: JSON.stringify({ ...late, lines: [{ b: budgetId, p: periodId, m: "cost", a: "5000" }] }),
        },
      ]);
      const oldRunId = store.runId();
      await server.stop();
      rmSync(join(folder, "appendonlydir"), { recursive: true });
      cpSync(copy, join(folder, "appendonlydir"), { recursive: true });
      server = await startRedis({ dataDir: folder, appendonly: true, port: server.port });
      await expect.poll(() => store.runId(), { timeout: 10_000 }).not.toBe(oldRunId);
      await expect.poll(() => store.runId(), { timeout: 10_000 }).toBeDefined();

      expect((await gateway.reserve(await reserveInputFor(store.redis, event(1n)))).code).toBe("fenced");
      // Another gateway registered and never speaks again: the fence waits for its registration to end.
      await store.redis.zadd(keysOf(organisationId).gateways, Date.now() + 60_000, "gw_silent");
      await gateway.heartbeat();
      expect(await recover(on, organisationId)).toEqual(["waiting"]);
      await store.redis.zrem(keysOf(organisationId).gateways, "gw_silent");
      expect((await recover(on, organisationId)).at(-1)).toBe("recovered");

      // Open: `open`, `opened`. The expired one is closed as such; its real settlement is a late correction.
      expect(await booksOf(on.db, store.redis, organisationId, budgetId, periodId)).toEqual({
        ledger: 8_300n,
        rollup: 8_300n,
        settled: "8300",
        held: "10000",
        book: 8_300n,
      });
      for (const one of [open, opened, expired]) await settleFor(gateway, one);
      await gateway.heartbeat();
      await bookAll(on, organisationId);
      expect(await booksOf(on.db, store.redis, organisationId, budgetId, periodId)).toEqual({
        ledger: 7_700n,
        rollup: 7_700n,
        settled: "7700",
        held: "0",
        book: 7_700n,
      });
    } finally {
      await store.close();
      await server.stop();
    }
  });

  it("that lost everything is rebuilt from the ledger and from what gateways announce", async () => {
    const server = await startRedis({ dataDir: throwAwayFolder("spillway-empty"), appendonly: false });
    const store = await connectedStore(server.url);
    try {
      const on = recoveryDeps({ ...deps, store });
      const organisation = await insertOrganisationRow(on.db);
      const { organisationId, budgetId } = organisation;
      await ensureGeneration(on, organisationId);
      const gateway = gatewayOn(on, "gw_empty");
      const [done, running] = [usageEventOf(organisation), usageEventOf(organisation)];
      for (const one of [done, running]) await reserveFor(gateway, store.redis, one);
      await settleFor(gateway, done);
      await bookAll(on, organisationId);
      await store.redis.flushall();
      await gateway.heartbeat();
      expect((await recover(on, organisationId)).at(-1)).toBe("recovered");
      expect(await booksOf(on.db, store.redis, organisationId, budgetId, periodId)).toMatchObject({
        settled: "1000",
        held: "5000",
        book: 1_000n,
      });
      await settleFor(gateway, running);
      await bookAll(on, organisationId);
      expect(await booksOf(on.db, store.redis, organisationId, budgetId, periodId)).toMatchObject({
        settled: "2000",
        held: "0",
        rollup: 2_000n,
      });
    } finally {
      await store.close();
      await server.stop();
    }
  });
});
