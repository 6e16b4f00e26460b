import { beforeAll, expect, test } from "vitest";
import { insertIdempotencyRecord } from "@/lib/db/idempotency-records";
import { insertReconciliation } from "@/lib/db/reconciliations";
import { FALLBACK_PRICE_ID } from "@/lib/domain/policy";
import { openBookkeeping, streamEntry } from "@/lib/testing/bookkeeping";
import { insertOrganisationRow, usageEventOf } from "@/lib/testing/usage-events";
import type { BookkeepingDeps } from "./bookkeeping";
import { raiseFallbackAlerts } from "./fallback-alerts";
import { pruneRecords } from "./prune";
import { bookEntries } from "./settlement";

const DAY_MS = 86_400_000;
let deps: BookkeepingDeps;
beforeAll(async () => {
  const bench = await openBookkeeping();
  deps = bench.deps;
  return bench.close;
});

test("pruning takes answers after two days and runs after a quarter, but the newest run of each account, which says how far its bill was read", async () => {
  const { organisationId } = await insertOrganisationRow(deps.db);
  const nowMs = Date.now();
  const keep = async (key: string, ageMs: number) =>
    insertIdempotencyRecord(
      deps.db.prisma,
      { organisationId, actorId: "usr", key },
      { bodyHash: "h", box: "b" },
      new Date(nowMs - ageMs),
    );
  await keep("old", 3 * DAY_MS);
  await keep("fresh", DAY_MS);
  const run = async (id: string, providerId: string | null, ageMs: number) => {
    const amounts = { billAmount: null, ledgerAmount: 0n, counterAmount: null, corrections: 0, detail: {} };
    const row = { id: `${id}${organisationId}`, organisationId, providerId, currency: "USD", ...amounts };
    await insertReconciliation(deps.db.pool, row);
    const at = new Date(nowMs - ageMs);
    await deps.db.pool.query(`UPDATE reconciliations SET created_at = $2 WHERE id = $1`, [row.id, at]);
  };
  await run("a1", "prv_quiet", 200 * DAY_MS);
  await run("a2", "prv_quiet", 150 * DAY_MS);
  await run("b1", "prv_busy", 150 * DAY_MS);
  await run("b2", "prv_busy", DAY_MS);
  await run("c1", null, 150 * DAY_MS);
  await run("c2", null, DAY_MS);

  await pruneRecords(deps);
  const where = { where: { organisationId } };
  const records = await deps.db.prisma.idempotencyRecord.findMany(where);
  expect(records.map((row) => row.key)).toEqual(["fresh"]);
  const runs = await deps.db.prisma.reconciliation.findMany({ ...where, orderBy: { id: "asc" } });
  expect(runs.map((row) => row.id.slice(0, 2))).toEqual(["a2", "b2", "c2"]);
  expect(Object.values(await pruneRecords(deps))).toEqual([0, 0, 0, 0]);
});

test("a model served at the fallback price is told of once until somebody has looked", async () => {
  const organisation = await insertOrganisationRow(deps.db);
  const { organisationId } = organisation;
  const event = (model: string, priceId: string) =>
    streamEntry(usageEventOf(organisation, { modelServed: model, priceId }));
  await bookEntries(deps, organisationId, [
    event("new-model", FALLBACK_PRICE_ID),
    event("new-model", FALLBACK_PRICE_ID),
    event("old-model", "prc_1"),
  ]);
  const since = new Date(Date.now() - 60_000);
  expect(await raiseFallbackAlerts(deps, organisationId, since)).toHaveLength(1);
  expect(await raiseFallbackAlerts(deps, organisationId, since)).toEqual([]);
  const [alert] = await deps.db.prisma.alert.findMany({ where: { organisationId } });
  expect(alert).toMatchObject({ kind: "fallback_price", detail: { subject: "new-model" } });
  await deps.db.prisma.alert.updateMany({ where: { organisationId }, data: { acknowledgedAt: new Date() } });
  expect(await raiseFallbackAlerts(deps, organisationId, since)).toHaveLength(1);
});
