/** When a key was last used follows from what is booked: forward only, and never at the price of a booking. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { closeDb } from "@/lib/db/client";
import { testDatabaseUrl, testRedisUrl } from "@/lib/testing/services";
import { bookkeepingDeps, insertOrganisationRow, usageEventOf } from "@/lib/testing/usage-events";
import { newId } from "@/lib/domain/ids";
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

const NOON_MS = Date.UTC(2026, 9, 5, 12);

async function withKey() {
  const organisation = await insertOrganisationRow(deps.db);
  const { organisationId } = organisation;
  const apiKeyId = newId("key", Date.now());
  const row = { id: apiKeyId, organisationId, appId: "con_app", name: "k", environment: "production" as const };
  await deps.db.prisma.apiKey.create({ data: row });
  const book = (...reservedAtMs: number[]) =>
    bookEntries(
      deps,
      organisationId,
      reservedAtMs.map((atMs) => {
        const event = usageEventOf({ ...organisation, reservedAtMs: atMs }, { apiKeyId });
        return { id: event.requestId, kind: "settled", eventJson: JSON.stringify(event) };
      }),
    );
  const lastUsedMs = async () =>
    (await deps.db.prisma.apiKey.findUniqueOrThrow({ where: { id: apiKeyId } })).lastUsedAt?.getTime() ?? null;
  return { apiKeyId, book, lastUsedMs };
}

describe("the time of a key's last use", () => {
  it("is that of its newest booked call and never goes back", async () => {
    const key = await withKey();
    expect(await key.lastUsedMs()).toBeNull();
    await key.book(NOON_MS, NOON_MS + 60_123, NOON_MS + 30_000);
    expect(await key.lastUsedMs()).toBe(NOON_MS + 60_123);
    await key.book(NOON_MS + 1_000);
    expect(await key.lastUsedMs()).toBe(NOON_MS + 60_123);
  });

  it("does not hold a booking up while somebody changes the key", async () => {
    const key = await withKey();
    const client = await deps.db.pool.connect();
    try {
      await client.query("BEGIN");
      await client.query("SELECT 1 FROM api_keys WHERE id = $1 FOR UPDATE", [key.apiKeyId]);
      expect((await key.book(NOON_MS)).inserted).toBe(1);
      await client.query("ROLLBACK");
    } finally {
      client.release();
    }
    await key.book(NOON_MS + 10_000);
    expect(await key.lastUsedMs()).toBe(NOON_MS + 10_000);
  });
});
