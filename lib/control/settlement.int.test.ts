import { beforeAll, describe, expect, it } from "vitest";
import { keysOf } from "@/lib/redis/keys";
import { claimUsage, ensureBookingGroup, peekUsage, readUsage, removeBooked } from "@/lib/redis/usage-stream";
import { openBookkeeping, streamEntry } from "@/lib/testing/bookkeeping";
import type { EventOptions } from "@/lib/testing/usage-events";
import { insertOrganisationRow, usageEventOf } from "@/lib/testing/usage-events";
import type { BookkeepingDeps } from "./bookkeeping";
import { applyCorrections, bookEntries } from "./settlement";

let deps: BookkeepingDeps;

beforeAll(async () => {
  const bench = await openBookkeeping();
  deps = bench.deps;
  return bench.close;
});

async function ledgerOf(organisationId: string) {
  return deps.db.prisma.ledgerEntry.findMany({ where: { organisationId }, orderBy: { ledgerSequence: "asc" } });
}

async function sumsOf(organisationId: string) {
  const ledger = await ledgerOf(organisationId);
  const usage = await deps.db.prisma.usageRollup.findMany({ where: { organisationId } });
  const budgets = await deps.db.prisma.budgetRollup.findMany({ where: { organisationId } });
  const lines = ledger.flatMap((row) => row.lines as { b: string; p: string; a: string }[]);
  return {
    ledger: ledger.reduce((sum, row) => sum + row.amount, 0n),
    rollup: usage.reduce((sum, row) => sum + row.amount, 0n),
    requests: usage.reduce((sum, row) => sum + row.requests, 0n),
    inputTokens: usage.reduce((sum, row) => sum + row.inputTokens, 0n),
    budget: budgets.reduce((sum, row) => sum + row.amount, 0n),
    lines: lines.reduce((sum, line) => sum + BigInt(line.a), 0n),
    rows: ledger.length,
  };
}

async function unfence(options: EventOptions, settled: bigint): Promise<void> {
  const keys = keysOf(options.organisationId);
  await deps.store.redis.set(keys.generation, deps.store.runId() ?? "");
  const periodId = `M${new Date().toISOString().slice(0, 7)}`;
  await deps.store.redis.hset(keys.counter(options.budgetId, periodId), "s", settled.toString());
}

async function counterOf(options: EventOptions): Promise<string | null> {
  const periodId = `M${new Date().toISOString().slice(0, 7)}`;
  return deps.store.redis.hget(keysOf(options.organisationId).counter(options.budgetId, periodId), "s");
}

describe("booking a batch", () => {
  it("writes each event once and both rollups from the rows really inserted, however often it is delivered", async () => {
    const organisation = await insertOrganisationRow(deps.db);
    const events = Array.from({ length: 50 }, (_, index) =>
      usageEventOf({ ...organisation, amount: BigInt(index + 1) }),
    );
    const entries = events.map((event) => streamEntry(event));
    const first = await bookEntries(deps, organisation.organisationId, entries);
    expect(first).toMatchObject({ inserted: 50, corrected: 0, dead: [], needsApply: false });
    const again = await bookEntries(deps, organisation.organisationId, [...entries.slice(25), ...entries.slice(0, 25)]);
    expect(again).toMatchObject({ inserted: 0, corrected: 0, dead: [], touched: [] });
    expect(await sumsOf(organisation.organisationId)).toEqual({
      ledger: 1275n,
      rollup: 1275n,
      budget: 1275n,
      lines: 1275n,
      requests: 50n,
      inputTokens: 5000n,
      rows: 50,
    });
  });

  it("books the good events of a batch and sets the bad ones aside with a reason that quotes nothing", async () => {
    const organisation = await insertOrganisationRow(deps.db);
    const good = usageEventOf(organisation);
    const nul = usageEventOf(organisation, { endUser: "a\u0000b\ud800" });
    const badAmount = { ...usageEventOf(organisation), amount: "1e3" };
    const elsewhere = usageEventOf({ ...organisation, organisationId: "somebodyelse" });
    const entries = [
      streamEntry(good),
      streamEntry(nul),
      streamEntry(JSON.stringify(badAmount)),
      streamEntry(elsewhere),
      streamEntry("{broken}"),
      streamEntry(`${JSON.stringify(good)},${JSON.stringify(good)}`),
      streamEntry("not json"),
    ];
    const result = await bookEntries(deps, organisation.organisationId, entries);
    expect(result.inserted).toBe(2);
    expect(result.dead.map((one) => one.id).sort()).toEqual(
      entries
        .slice(2)
        .map((one) => one.id)
        .sort(),
    );
    expect(result.dead.map((one) => one.reason)).toContain("wrong fields: amount");
    expect((await ledgerOf(organisation.organisationId)).map((row) => row.endUser)).toEqual([
      "somebody",
      "a\ufffdb\ufffd",
    ]);
  });

  it("survives a crash between commit and acknowledgement", async () => {
    const organisation = await insertOrganisationRow(deps.db);
    const { organisationId } = organisation;
    const { redis } = deps.store;
    const events = [usageEventOf(organisation), usageEventOf(organisation)];
    for (const event of events)
      await redis.xadd(keysOf(organisationId).usage, "*", "k", "settled", "e", JSON.stringify(event));
    await ensureBookingGroup(redis, organisationId);
    const taken =
      (await readUsage(redis, "dies", [organisationId], { count: 10, blockMs: 1 })).get(organisationId) ?? [];
    await bookEntries(deps, organisationId, taken);
    // The process dies here; another takes over what it held.
    const claimed = await claimUsage(redis, "lives", organisationId, { count: 10, idleMs: 0 });
    expect(claimed.map((one) => one.id)).toEqual(taken.map((one) => one.id));
    expect(await bookEntries(deps, organisationId, claimed)).toMatchObject({ inserted: 0, corrected: 0 });
    const { watermark } = await removeBooked(
      redis,
      organisationId,
      claimed.map((one) => one.id),
    );
    expect(watermark).toBe(claimed[1]?.id);
    expect(await redis.get(keysOf(organisationId).booked)).toBe(watermark);
    expect(await peekUsage(redis, organisationId, 10)).toEqual([]);
    expect((await sumsOf(organisationId)).rows).toBe(2);
  });

  it("keeps the watermark below what another worker still holds", async () => {
    const organisation = await insertOrganisationRow(deps.db);
    const { organisationId } = organisation;
    const { redis } = deps.store;
    await ensureBookingGroup(redis, organisationId);
    for (let index = 0; index < 2; index += 1) {
      await redis.xadd(
        keysOf(organisationId).usage,
        `${1000 + index}-0`,
        "k",
        "settled",
        "e",
        JSON.stringify(usageEventOf(organisation)),
      );
    }
    const [slow] =
      (await readUsage(redis, "slow", [organisationId], { count: 1, blockMs: 1 })).get(organisationId) ?? [];
    const quick =
      (await readUsage(redis, "quick", [organisationId], { count: 1, blockMs: 1 })).get(organisationId) ?? [];
    expect(slow?.id).toBe("1000-0");
    expect(
      (
        await removeBooked(
          redis,
          organisationId,
          quick.map((one) => one.id),
        )
      ).watermark,
    ).toBe("999-999999");
  });

  it("books one base entry when two workers take the same events at once", async () => {
    const organisation = await insertOrganisationRow(deps.db);
    const entries = Array.from({ length: 200 }, () => streamEntry(usageEventOf(organisation)));
    const results = await Promise.all([1, 2, 3].map(() => bookEntries(deps, organisation.organisationId, entries)));
    expect(results.reduce((sum, result) => sum + result.inserted, 0)).toBe(200);
    expect(await sumsOf(organisation.organisationId)).toMatchObject({
      rows: 200,
      ledger: 200_000n,
      budget: 200_000n,
      rollup: 200_000n,
    });
  });
});

describe("late events", () => {
  const estimated = { kind: "expired", outcome: "expired", isEstimated: true } as const;

  it("correct an expired attempt by the difference, once, and the counters with it", async () => {
    const organisation = await insertOrganisationRow(deps.db);
    const expired = usageEventOf({ ...organisation, amount: 5_000n }, estimated);
    const actual = usageEventOf(
      { ...organisation, amount: 1_200n },
      { requestId: expired.requestId, reservedAtMs: expired.reservedAtMs },
    );
    await unfence(organisation, 5_000n);
    const result = await bookEntries(deps, organisation.organisationId, [
      streamEntry(expired, "expired"),
      streamEntry(actual, "late"),
    ]);
    expect(result).toMatchObject({ inserted: 1, corrected: 1, needsApply: true });
    expect(
      await bookEntries(deps, organisation.organisationId, [
        streamEntry(actual, "late"),
        streamEntry(expired, "expired"),
      ]),
    ).toMatchObject({
      inserted: 0,
      corrected: 0,
    });
    const rows = await ledgerOf(organisation.organisationId);
    expect(rows.map((row) => [row.kind, row.sequence, row.amount, row.counterSequence])).toEqual([
      ["usage", 0, 5_000n, null],
      ["correction", 1, -3_800n, 1n],
    ]);
    expect(await sumsOf(organisation.organisationId)).toMatchObject({
      ledger: 1_200n,
      rollup: 1_200n,
      budget: 1_200n,
      requests: 1n,
    });
    expect(await applyCorrections(deps, organisation.organisationId)).toBe(1);
    expect(await applyCorrections(deps, organisation.organisationId)).toBe(0);
    expect(await counterOf(organisation)).toBe("1200");
  });

  it("without a base entry become one, and are added to the counters once", async () => {
    const organisation = await insertOrganisationRow(deps.db);
    const late = usageEventOf({ ...organisation, amount: 700n });
    await unfence(organisation, 0n);
    const both = await Promise.all(
      [1, 2].map(() => bookEntries(deps, organisation.organisationId, [streamEntry(late, "late")])),
    );
    expect(both.reduce((sum, result) => sum + result.corrected, 0)).toBe(1);
    await Promise.all([
      applyCorrections(deps, organisation.organisationId),
      applyCorrections(deps, organisation.organisationId),
    ]);
    expect(await counterOf(organisation)).toBe("700");
    const rows = await ledgerOf(organisation.organisationId);
    expect(rows.map((row) => [row.kind, row.sequence, row.counterSequence])).toEqual([["usage", 0, 1n]]);
  });

  it("change nothing where the attempt was measured or reconciled already", async () => {
    const organisation = await insertOrganisationRow(deps.db);
    const measured = usageEventOf(organisation);
    const other = {
      ...usageEventOf({ ...organisation, amount: 9n }),
      requestId: measured.requestId,
      reservedAtMs: measured.reservedAtMs,
    };
    await bookEntries(deps, organisation.organisationId, [streamEntry(measured)]);
    const result = await bookEntries(deps, organisation.organisationId, [
      streamEntry(other, "late"),
      streamEntry({ ...other, ...estimated }, "announced"),
    ]);
    expect(result).toMatchObject({ inserted: 0, corrected: 0, dead: [] });
    expect(await sumsOf(organisation.organisationId)).toMatchObject({ rows: 1, ledger: 1_000n });
  });

  it("wait for recovery where the organisation is fenced", async () => {
    const organisation = await insertOrganisationRow(deps.db);
    await bookEntries(deps, organisation.organisationId, [streamEntry(usageEventOf(organisation), "late")]);
    expect(await applyCorrections(deps, organisation.organisationId)).toBe(0);
    expect(await counterOf(organisation)).toBeNull();
  });

  it("that a script charged although the attempt was booked are entered and taken back, in ledger and counters", async () => {
    const organisation = await insertOrganisationRow(deps.db);
    const measured = usageEventOf(organisation);
    const overtaken = {
      ...usageEventOf({ ...organisation, amount: 9n }, estimated),
      requestId: measured.requestId,
      reservedAtMs: measured.reservedAtMs,
    };
    await unfence(organisation, 1_009n);
    await bookEntries(deps, organisation.organisationId, [streamEntry(measured)]);
    for (const corrected of [2, 0]) {
      const result = await bookEntries(deps, organisation.organisationId, [streamEntry(overtaken, "expired")]);
      expect(result).toMatchObject({ inserted: 0, corrected, dead: [] });
    }
    await applyCorrections(deps, organisation.organisationId);
    expect(await sumsOf(organisation.organisationId)).toMatchObject({ rows: 3, ledger: 1_000n, rollup: 1_000n });
    expect(await counterOf(organisation)).toBe("1000");
  });

  it("a second opinion announced under a fence corrects the ledger and leaves the counters to the rebuild", async () => {
    const organisation = await insertOrganisationRow(deps.db);
    const expired = usageEventOf({ ...organisation, amount: 5_000n }, estimated);
    const settled = usageEventOf(
      { ...organisation, amount: 1_000n },
      { requestId: expired.requestId, reservedAtMs: expired.reservedAtMs },
    );
    await bookEntries(deps, organisation.organisationId, [streamEntry(expired, "expired")]);
    expect(await bookEntries(deps, organisation.organisationId, [streamEntry(settled, "announced")])).toMatchObject({
      corrected: 1,
      needsApply: false,
    });
    expect(await sumsOf(organisation.organisationId)).toMatchObject({ ledger: 1_000n, budget: 1_000n, rollup: 1_000n });
  });
});
