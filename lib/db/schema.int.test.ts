import { beforeAll, expect, test } from "vitest";
import { insertOrganisationRow, usageEventOf } from "@/lib/testing/usage-events";
import { testDatabaseUrl } from "@/lib/testing/services";
import { getDb } from "./client";
import type { Db } from "./client";
import { insertLedgerBatch } from "./ledger-entries";
import { withSqlTransaction } from "./pool";

let db: Db;
beforeAll(async () => {
  db = getDb(await testDatabaseUrl());
});

async function book(reservedAtMs: number): Promise<string> {
  const { organisationId, budgetId } = await insertOrganisationRow(db);
  const batch = JSON.stringify([{ k: "settled", e: usageEventOf({ organisationId, budgetId, reservedAtMs }) }]);
  await withSqlTransaction(db.pool, (client) => insertLedgerBatch(client, organisationId, batch));
  return organisationId;
}
const partitionOf = async (organisationId: string): Promise<string> => {
  const rows = await db.pool.query<{ name: string }>(
    "SELECT tableoid::regclass::text AS name FROM ledger_entries WHERE organisation_id = $1",
    [organisationId],
  );
  return rows.rows[0]?.name ?? "";
};

test("a ledger row can be neither changed nor deleted nor truncated away, whichever table is named", async () => {
  const organisationId = await book(Date.now());
  const partition = await partitionOf(organisationId);
  for (const table of ["ledger_entries", partition]) {
    await expect(
      db.pool.query(`UPDATE ${table} SET amount = 0 WHERE organisation_id = $1`, [organisationId]),
    ).rejects.toThrow(/insert-only/u);
    await expect(db.pool.query(`DELETE FROM ${table} WHERE organisation_id = $1`, [organisationId])).rejects.toThrow(
      /insert-only/u,
    );
    await expect(db.pool.query(`TRUNCATE ${table}`)).rejects.toThrow(/insert-only/u);
  }
  // Nor by calling the organisation a sample afterwards.
  await expect(
    db.pool.query("UPDATE organisations SET is_sample = true WHERE id = $1", [organisationId]),
  ).rejects.toThrow(/creation only/u);
});

test("a row of a month without a partition goes to the default and moves, still protected, when its month is made", async () => {
  const organisationId = await book(Date.UTC(2031, 4, 15));
  expect(await partitionOf(organisationId)).toBe("ledger_entries_default");
  const made = () => db.pool.query<{ made: number }>("SELECT ensure_ledger_partitions('2031-04-20', 3) AS made");
  expect((await made()).rows[0]?.made).toBe(3);
  expect((await made()).rows[0]?.made).toBe(0);
  expect(await partitionOf(organisationId)).toBe("ledger_entries_2031_05");
  await expect(db.pool.query("DELETE FROM ledger_entries_2031_05")).rejects.toThrow(/insert-only/u);
  const later = await book(Date.UTC(2032, 0, 1));
  expect(await partitionOf(later)).toBe("ledger_entries_default");
  await expect(db.pool.query("DELETE FROM ledger_entries_default")).rejects.toThrow(/insert-only/u);
});

test("two processes that make the same partitions at once both succeed", async () => {
  const make = () => db.pool.query("SELECT ensure_ledger_partitions('2041-01-01', 4)");
  await Promise.all([make(), make(), make()]);
});

test.each([
  ["a negative limit", "UPDATE budgets SET limit_amount = -1"],
  ["a budget at two places", "UPDATE budgets SET api_key_id = 'key_1'"],
  ["an epoch that ran ahead of the changes", "UPDATE organisations SET published_epoch = snapshot_epoch + 1"],
  ["a refusal status that is none", "UPDATE organisations SET budget_refusal_status = 500"],
  ["an organisation id that breaks out of the hash tag", "UPDATE organisations SET id = 'a}b{c'"],
])("the database itself refuses %s", async (_what, sql) => {
  await insertOrganisationRow(db);
  await expect(db.pool.query(sql)).rejects.toThrow(/check constraint/u);
});
