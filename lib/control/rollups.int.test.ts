import { afterAll, beforeAll, expect, it } from "vitest";
import { closeDb } from "@/lib/db/client";
import type { UsageEvent } from "@/lib/domain/usage-event";
import { testDatabaseUrl, testRedisUrl } from "@/lib/testing/services";
import { bookkeepingDeps, insertOrganisationRow, usageEventOf } from "@/lib/testing/usage-events";
import type { BookkeepingDeps } from "./bookkeeping";
import { bookEntries } from "./settlement";

let deps: BookkeepingDeps;
let databaseUrl: string;

beforeAll(async () => {
  databaseUrl = await testDatabaseUrl();
  deps = await bookkeepingDeps(databaseUrl, testRedisUrl());
});
afterAll(async () => {
  await deps.store.close();
  await closeDb(databaseUrl);
});

const entryOf = (event: UsageEvent) => ({ id: event.requestId, kind: "settled", eventJson: JSON.stringify(event) });

it("sums of single days equal the sum of their range", async () => {
  const organisation = await insertOrganisationRow(deps.db);
  const dayMs = 86_400_000;
  const startMs = Date.UTC(2026, 9, 1);
  const entries = Array.from({ length: 60 }, (_, index) =>
    entryOf(
      usageEventOf({
        ...organisation,
        amount: BigInt(7 * index + 1),
        reservedAtMs: startMs + Math.floor((index * 3 * dayMs) / 60),
      }),
    ),
  );
  await bookEntries(deps, organisation.organisationId, entries);
  const sum = async (fromMs: number, toMs: number) => {
    const { organisationId } = organisation;
    const where = { organisationId, bucketStart: { gte: new Date(fromMs), lt: new Date(toMs) } };
    return (await deps.db.prisma.usageRollup.aggregate({ where, _sum: { amount: true } }))._sum.amount ?? 0n;
  };
  const days = await Promise.all([0, 1, 2].map((day) => sum(startMs + day * dayMs, startMs + (day + 1) * dayMs)));
  expect(days.every((amount) => amount > 0n)).toBe(true);
  expect(days.reduce((total, amount) => total + amount, 0n)).toBe(await sum(startMs, startMs + 3 * dayMs));
  const { organisationId } = organisation;
  const ledger = await deps.db.prisma.ledgerEntry.aggregate({ where: { organisationId }, _sum: { amount: true } });
  expect(await sum(startMs, startMs + 3 * dayMs)).toBe(ledger._sum.amount);
});
