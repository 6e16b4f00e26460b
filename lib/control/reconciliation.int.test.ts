import { beforeAll, describe, expect, it } from "vitest";
import { signRequestTag, verifyRequestTag } from "@/lib/config/request-tag";
import { systemClock } from "@/lib/domain/clock";
import type { UsageEvent } from "@/lib/domain/usage-event";
import { createBudgetLedger } from "@/lib/redis/budget-ledger";
import { keysOf } from "@/lib/redis/keys";
import { booksOf, reserveFor, settleFor } from "@/lib/testing/reservations";
import { bookAll, openBookkeeping } from "@/lib/testing/bookkeeping";
import { insertOrganisationRow, usageEventOf } from "@/lib/testing/usage-events";
import type { BillPageLine } from "./provider-bill";
import type { ReconcileDeps } from "./reconciliation";
import { reconcileOrganisation } from "./reconciliation";
import type { RecoveryDeps } from "./recovery";
import { ensureGeneration } from "./recovery";
import { bookEntries } from "./settlement";
import { sweepReservations } from "./sweep";

const pepper = Buffer.alloc(32, 3);
const periodId = `M${new Date().toISOString().slice(0, 7)}`;
const rules = { orphanAgeMs: 0, estimateAgeMs: 0 };
let deps: RecoveryDeps;

beforeAll(async () => {
  const bench = await openBookkeeping();
  deps = bench.deps;
  return bench.close;
});

/** A provider that keeps a bill, as a test's stand-in for the outside world. */
function billingProvider() {
  const lines: BillPageLine[] = [];
  return {
    lines,
    bill: (event: UsageEvent, amount: bigint, tokens = { promptTokens: 100, completionTokens: 20 }, tag?: string) => {
      const reservationId = `${event.requestId}:${event.attempt}`;
      const { organisationId, apiKeyId } = event;
      lines.push({
        sequence: lines.length + 1,
        receivedAt: new Date(event.reservedAtMs).toISOString(),
        requestTag: tag ?? signRequestTag(pepper, { reservationId, organisationId, apiKeyId }),
        model: "sandbox-large",
        cachedTokens: 0,
        amountNanos: amount.toString(),
        ...tokens,
      });
    },
    fetchBillPage: async (_baseUrl: string, since: number, limit: number) => {
      const page = lines.slice(since, since + limit);
      const nextSequence = since > lines.length ? lines.length : since + page.length;
      return { currency: "USD", firstSequence: 1, nextSequence, hasMore: nextSequence < lines.length, lines: page };
    },
  };
}

async function setUp() {
  const organisation = await insertOrganisationRow(deps.db);
  const { organisationId, budgetId } = organisation;
  const providerId = `prv_${organisationId}`;
  await deps.db.prisma.provider.create({
    data: {
      id: providerId,
      organisationId,
      kind: "sandbox",
      name: "sandbox",
      baseUrl: "http://127.0.0.1:9/v1",
      billingMode: "request",
    },
  });
  await deps.db.prisma.budget.create({
    data: {
      id: `bud_t${organisationId}`,
      organisationId,
      consumerId: organisationId,
      name: "tokens",
      meter: "total_tokens",
      periodKind: "month",
      limitAmount: 1_000_000n,
    },
  });
  await ensureGeneration(deps, organisationId);
  const provider = billingProvider();
  const reconcileDeps: ReconcileDeps = {
    ...deps,
    fetchBillPage: provider.fetchBillPage,
    verifyTag: (tag) => verifyRequestTag(pepper, tag),
  };
  const gateway = createBudgetLedger({
    connection: deps.store,
    gatewayId: "gw_bill",
    clock: systemClock,
    beats: false,
  });
  const event = (amount: bigint, changes: Partial<UsageEvent> = {}) => {
    const made = usageEventOf({ ...organisation, amount }, { providerId, ...changes });
    return {
      ...made,
      lines: [...made.lines, { b: `bud_t${organisationId}`, p: periodId, m: "total_tokens" as const, a: "120" }],
    };
  };
  const books = () => booksOf(deps.db, deps.store.redis, organisationId, budgetId, periodId);
  const tokens = () => deps.store.redis.hget(keysOf(organisationId).counter(`bud_t${organisationId}`, periodId), "s");
  const reconcile = () => reconcileOrganisation(reconcileDeps, organisationId, rules);
  const call = async (made: UsageEvent) => {
    await reserveFor(gateway, deps.store.redis, made);
    await settleFor(gateway, made);
  };
  return { ...organisation, providerId, provider, gateway, event, books, tokens, reconcile, call };
}

describe("reconcile", () => {
  it("brings ledger and counters to the bill by one correction a call, and a second run changes nothing", async () => {
    const t = await setUp();
    const [equal, dearer, unknown, unbilled, forged] = [
      t.event(1_000n),
      t.event(1_000n),
      t.event(1_000n),
      t.event(1_000n),
      t.event(1_000n),
    ];
    await t.call(equal);
    await t.call(dearer);
    for (const one of [unknown, unbilled]) await reserveFor(t.gateway, deps.store.redis, one);
    expect(await sweepReservations(deps, t.organisationId, { nowMs: Date.now() + 60_000 })).toBe(2);
    await bookAll(deps, t.organisationId);
    expect(await t.books()).toMatchObject({ ledger: 12_000n, settled: "12000" });

    t.provider.bill(equal, 1_000n);
    t.provider.bill(dearer, 1_250n, { promptTokens: 150, completionTokens: 20 });
    t.provider.bill(unknown, 800n);
    t.provider.bill(
      forged,
      999n,
      undefined,
      `${forged.requestId}:0.${t.organisationId}.key_test.AAAAAAAAAAAAAAAAAAAAAA`,
    );
    const first = await t.reconcile();
    expect(first).toMatchObject({ corrections: 3, unresolved: 0, isQuiet: true, mismatches: 0, failedProviders: [] });
    expect(first?.driftByCurrency.get("USD")).toBe(0n);
    expect(await t.books()).toEqual({ ledger: 3_050n, rollup: 3_050n, settled: "3050", held: "0", book: 3_050n });
    // 120 + 170 + 120, and nothing of the call that never came.
    expect(await t.tokens()).toBe("410");

    const second = await t.reconcile();
    expect(second).toMatchObject({ corrections: 0, isQuiet: true, mismatches: 0 });
    expect(await t.books()).toMatchObject({ ledger: 3_050n, settled: "3050" });
    const rows = await deps.db.prisma.reconciliation.findMany({
      where: { organisationId: t.organisationId, providerId: null },
      orderBy: { createdAt: "desc" },
    });
    expect(rows[0]).toMatchObject({ currency: "USD", billAmount: 3_050n, ledgerAmount: 3_050n, counterAmount: 3_050n });
    expect(await deps.db.prisma.alert.count({ where: { organisationId: t.organisationId } })).toBe(0);
  });

  it("confirms an estimate that the bill repeats, so that a later run does not take it for unbilled", async () => {
    const t = await setUp();
    const estimated = t.event(1_000n, { isEstimated: true, outcome: "aborted" });
    await t.call(estimated);
    await bookAll(deps, t.organisationId);
    t.provider.bill(estimated, 1_000n);
    expect(await t.reconcile()).toMatchObject({ corrections: 1 });
    expect(await t.reconcile()).toMatchObject({ corrections: 0 });
    expect(await t.books()).toMatchObject({ ledger: 1_000n, settled: "1000" });
  });

  it("books a billed call that nobody remembers to whoever its signed tag names, once", async () => {
    const t = await setUp();
    const lost = t.event(2_000n);
    t.provider.bill(lost, 2_000n);
    expect(await t.reconcile()).toMatchObject({ corrections: 1 });
    expect(await t.reconcile()).toMatchObject({ corrections: 0, mismatches: 0 });
    expect(await t.books()).toEqual({ ledger: 2_000n, rollup: 2_000n, settled: "2000", held: null, book: 2_000n });
    expect(await t.tokens()).toBe("120");
    // The gateway comes back after all: the bill has spoken.
    await bookEntries(deps, t.organisationId, [
      { id: "1-1", kind: "late", eventJson: JSON.stringify({ ...lost, amount: "1900" }) },
    ]);
    expect(await t.books()).toMatchObject({ ledger: 2_000n });
  });

  it("leaves a call that is still open alone and judges it in a later run", async () => {
    const t = await setUp();
    const [open, done] = [t.event(1_000n), t.event(500n)];
    await reserveFor(t.gateway, deps.store.redis, open);
    await t.call(done);
    await bookAll(deps, t.organisationId);
    t.provider.bill(open, 1_000n);
    t.provider.bill(done, 500n);
    expect(await t.reconcile()).toMatchObject({ corrections: 0, unresolved: 1, isQuiet: false });
    await settleFor(t.gateway, open);
    await bookAll(deps, t.organisationId);
    const later = await t.reconcile();
    expect(later).toMatchObject({ corrections: 0, unresolved: 0, isQuiet: true });
    expect(later?.driftByCurrency.get("USD")).toBe(0n);
  });

  it("reports a counter that disagrees with the ledger, once", async () => {
    const t = await setUp();
    await t.call(t.event(1_000n));
    await bookAll(deps, t.organisationId);
    await deps.store.redis.hincrby(keysOf(t.organisationId).counter(t.budgetId, periodId), "s", 1);
    expect(await t.reconcile()).toMatchObject({ mismatches: 1 });
    await t.reconcile();
    const alerts = await deps.db.prisma.alert.findMany({ where: { organisationId: t.organisationId, kind: "drift" } });
    expect(alerts.map((alert) => (alert.detail as { subject: string }).subject).sort()).toEqual(["USD", "counters"]);
  });
});
