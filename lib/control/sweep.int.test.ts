import { beforeAll, expect, it } from "vitest";
import { systemClock } from "@/lib/domain/clock";
import { createBudgetLedger } from "@/lib/redis/budget-ledger";
import { keysOf } from "@/lib/redis/keys";
import { booksOf, extendFor, reserveFor, settleFor } from "@/lib/testing/reservations";
import { bookAll, openBookkeeping } from "@/lib/testing/bookkeeping";
import { insertOrganisationRow, usageEventOf } from "@/lib/testing/usage-events";
import type { RecoveryDeps } from "./recovery";
import { ensureGeneration } from "./recovery";
import { sweepReservations } from "./sweep";

const periodId = `M${new Date().toISOString().slice(0, 7)}`;
let deps: RecoveryDeps;

beforeAll(async () => {
  const bench = await openBookkeeping();
  deps = bench.deps;
  return bench.close;
});

it("a dead process's call expires once, at its hold, and its late settlement puts it right in all books", async () => {
  const organisation = await insertOrganisationRow(deps.db);
  const { organisationId, budgetId } = organisation;
  const { redis } = deps.store;
  await ensureGeneration(deps, organisationId);
  const gateway = createBudgetLedger({
    connection: deps.store,
    gatewayId: "gw_dead",
    clock: systemClock,
    beats: false,
  });
  const event = usageEventOf({ ...organisation, amount: 1_234n });
  await reserveFor(gateway, redis, event);
  expect(await sweepReservations(deps, organisationId)).toBe(0);
  const afterMs = Date.now() + 60_000;
  const swept = await Promise.all([1, 2].map(() => sweepReservations(deps, organisationId, { nowMs: afterMs })));
  expect(swept.reduce((sum, count) => sum + count, 0)).toBe(1);
  expect(await booksOf(deps.db, redis, organisationId, budgetId, periodId)).toMatchObject({
    settled: "5000",
    held: "0",
    book: 5_000n,
  });
  await settleFor(gateway, event);
  await bookAll(deps, organisationId);
  expect(await booksOf(deps.db, redis, organisationId, budgetId, periodId)).toEqual({
    ledger: 1_234n,
    rollup: 1_234n,
    settled: "1234",
    held: "0",
    book: 1_234n,
  });
});

it("an extended call whose process died is booked at all that it held, and put right by its late settlement", async () => {
  const organisation = await insertOrganisationRow(deps.db);
  const { organisationId, budgetId } = organisation;
  const { redis } = deps.store;
  await ensureGeneration(deps, organisationId);
  const gateway = createBudgetLedger({
    connection: deps.store,
    gatewayId: "gw_long",
    clock: systemClock,
    beats: false,
  });
  const event = usageEventOf({ ...organisation, amount: 6_000n });
  await reserveFor(gateway, redis, event);
  expect(await extendFor(gateway, redis, event, 1, 2_500n)).toMatchObject({ code: "extended" });
  // Its price row is gone, so that what it counted cannot be priced and the hold stands in.
  expect(await sweepReservations(deps, organisationId, { nowMs: Date.now() + 60_000 })).toBe(1);
  const books = await booksOf(deps.db, redis, organisationId, budgetId, periodId);
  expect(books).toMatchObject({ settled: "7500", held: "0", book: 7_500n });
  await settleFor(gateway, event);
  await bookAll(deps, organisationId);
  expect(await booksOf(deps.db, redis, organisationId, budgetId, periodId)).toMatchObject({
    ledger: 6_000n,
    settled: "6000",
    book: 6_000n,
  });
});

it("a stream expires at the usage its last renewal carried, priced by the row of its reservation", async () => {
  const organisation = await insertOrganisationRow(deps.db);
  const { organisationId, budgetId } = organisation;
  const { prisma } = deps.db;
  await ensureGeneration(deps, organisationId);
  await prisma.model.create({
    data: { id: `mod_${organisationId}`, organisationId, name: "sandbox-large", kind: "chat" },
  });
  const price = await prisma.price.create({
    data: {
      id: `prc_${organisationId}`,
      organisationId,
      modelId: `mod_${organisationId}`,
      currency: "USD",
      rates: { inputPerToken: "0.000000005", outputPerToken: "0.000000025" },
      effectiveFrom: new Date(0),
    },
  });
  const gateway = createBudgetLedger({
    connection: deps.store,
    gatewayId: "gw_cut",
    clock: systemClock,
    beats: false,
  });
  const event = usageEventOf(organisation, { priceId: price.id, isStream: true });
  await reserveFor(gateway, deps.store.redis, event);
  const open = { organisationId, reservationId: `${event.requestId}:0` };
  gateway.progress(open, {
    inputTokens: 40,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: 8,
    reasoningTokens: 0,
  });
  await gateway.heartbeat();
  expect(await sweepReservations(deps, organisationId, { nowMs: Date.now() + 60_000 })).toBe(1);
  await bookAll(deps, organisationId);
  const [row] = await prisma.ledgerEntry.findMany({ where: { organisationId } });
  expect(row).toMatchObject({ amount: 400n, outcome: "expired", isEstimated: true });
  expect(await booksOf(deps.db, deps.store.redis, organisationId, budgetId, periodId)).toMatchObject({
    settled: "400",
    held: "0",
  });
});

it("nothing expires while the organisation is fenced", async () => {
  const organisation = await insertOrganisationRow(deps.db);
  const { organisationId } = organisation;
  await ensureGeneration(deps, organisationId);
  const gateway = createBudgetLedger({
    connection: deps.store,
    gatewayId: "gw_fenced",
    clock: systemClock,
    beats: false,
  });
  await reserveFor(gateway, deps.store.redis, usageEventOf(organisation));
  await deps.store.redis.set(keysOf(organisationId).generation, "another");
  expect(await sweepReservations(deps, organisationId, { nowMs: Date.now() + 60_000 })).toBe(0);
});
