import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LOCKS, shareAdvisoryLock } from "@/lib/db/advisory-lock";
import { closeDb } from "@/lib/db/client";
import { withSqlTransaction } from "@/lib/db/pool";
import { keysOf } from "@/lib/redis/keys";
import { recoveryDeps } from "@/lib/testing/reservations";
import { testDatabaseUrl, testRedisUrl } from "@/lib/testing/services";
import { bookkeepingDeps, insertOrganisationRow, usageEventOf } from "@/lib/testing/usage-events";
import type { RecoveryDeps } from "./recovery";
import { ensureGeneration, rebuildOrganisation } from "./recovery";
import { bookEntries } from "./settlement";

let deps: RecoveryDeps;
let databaseUrl: string;

beforeAll(async () => {
  databaseUrl = await testDatabaseUrl();
  deps = recoveryDeps(await bookkeepingDeps(databaseUrl, testRedisUrl()));
});
afterAll(async () => {
  await deps.store.close();
  await closeDb(databaseUrl);
});

const entryOf = (organisation: { organisationId: string; budgetId: string }) => ({
  id: "1-1",
  kind: "settled",
  eventJson: JSON.stringify(usageEventOf(organisation)),
});

describe("counters computed from the ledger", () => {
  it("are never overtaken by entries of a Redis that is gone: those are not booked", async () => {
    const organisation = await insertOrganisationRow(deps.db);
    const { organisationId } = organisation;
    await ensureGeneration(deps, organisationId);
    const gone = "0".repeat(40);
    await expect(bookEntries(deps, organisationId, [entryOf(organisation)], gone)).rejects.toThrow("is gone");
    expect(await deps.db.prisma.ledgerEntry.count({ where: { organisationId } })).toBe(0);
    const result = await bookEntries(deps, organisationId, [entryOf(organisation)], deps.store.runId());
    expect(result.inserted).toBe(1);
  });

  it("wait for a booking under way, and have what it books", async () => {
    const organisation = await insertOrganisationRow(deps.db);
    const { organisationId, budgetId } = organisation;
    await ensureGeneration(deps, organisationId);
    let rebuilt: Promise<void> | undefined;
    await withSqlTransaction(deps.db.pool, async (client) => {
      await shareAdvisoryLock(client, LOCKS.booking, organisationId);
      rebuilt = rebuildOrganisation(deps, organisationId);
      const isWaiting = async () => {
        const { rows } = await client.query<{ waiting: number }>(
          "SELECT count(*)::int AS waiting FROM pg_locks WHERE locktype = 'advisory' AND classid = $1 AND NOT granted",
          [LOCKS.booking],
        );
        return rows[0]?.waiting ?? 0;
      };
      await expect.poll(isWaiting, { timeout: 10_000 }).toBeGreaterThan(0);
      await bookEntries(deps, organisationId, [entryOf(organisation)]);
    });
    await rebuilt;
    const periodId = `M${new Date().toISOString().slice(0, 7)}`;
    expect(await deps.store.redis.hget(keysOf(organisationId).counter(budgetId, periodId), "s")).toBe("1000");
  });
});
