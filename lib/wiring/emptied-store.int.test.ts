/** The store emptied, or without its snapshot: nobody is told that his key does not exist, and what a process has read stands. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hashApiKey } from "@/lib/config/key-hash";
import { drainChanges } from "@/lib/control/snapshots";
import { API_KEY_SECRET_LENGTH, composeApiKey } from "@/lib/domain/api-key";
import { StoreUnavailable } from "@/lib/gateway/ports";
import { connectPatient } from "@/lib/redis/client";
import { keysOf } from "@/lib/redis/keys";
import { RedisPolicySource } from "@/lib/redis/policy-source";
import { createTestKey, TEST_PEPPER, uniqueOrganisationId } from "@/lib/testing/factories";
import type { StoreRig } from "@/lib/testing/store-rig";
import { ask, call, journal, startStoreRig } from "@/lib/testing/store-rig";

let rig: StoreRig;
beforeAll(async () => {
  rig = await startStoreRig();
});
afterAll(() => rig.close());

async function lookUp(policies: RedisPolicySource, organisationId: string, keyHash: string): Promise<string> {
  try {
    const snapshot = await policies.organisation(organisationId);
    const key = await policies.apiKey(organisationId, keyHash);
    return snapshot && key ? "known" : "unknown";
  } catch (error) {
    if (error instanceof StoreUnavailable) return "away";
    throw error;
  }
}

describe("a store that lost its data", () => {
  it("is no reason to take a key for unknown, neither one that was seen before nor another", async () => {
    const made = await rig.organisation("enforce");
    const gateway = await rig.bench.gateway();
    expect(await call(gateway, made.apiKey.secret)).toBe("200");
    const { secret } = await createTestKey(rig.bench.control, made.organisationId, made.consumers.app);
    await rig.bench.store.redis.flushall();
    for (let count = 0; count < 3; count += 1) {
      expect(await call(gateway, made.apiKey.secret)).toBe("503 quota_store_unavailable");
      expect(await call(gateway, secret)).toBe("503 quota_store_unavailable");
      await gateway.ledger.heartbeat();
    }
    await rig.heal([made], [gateway]);
    expect(await call(gateway, made.apiKey.secret)).toBe("200");
    expect(await call(gateway, secret)).toBe("200");
  }, 60_000);

  it("is no reason for it at a process that starts then either, which waits for every organisation to be back", async () => {
    const [made, soft] = [await rig.organisation("enforce"), await rig.organisation("warn")];
    const seasoned = await rig.bench.gateway({ journal: journal() });
    expect(await call(seasoned, soft.apiKey.secret)).toBe("200");
    const madeUp = composeApiKey("production", uniqueOrganisationId(), "a".repeat(API_KEY_SECRET_LENGTH));
    await rig.bench.store.redis.flushall();
    const fresh = await rig.bench.gateway();
    for (const secret of [made.apiKey.secret, soft.apiKey.secret, madeUp]) {
      const refused = await ask(fresh, secret);
      expect(refused.status).toBe(503);
      expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
      expect(await refused.json()).toMatchObject({ error: { code: "quota_store_unavailable" } });
    }
    expect(await call(seasoned, soft.apiKey.secret)).toBe("200");
    await drainChanges(rig.bench.control);
    expect(await call(fresh, madeUp)).toBe("401 invalid_api_key");
    await rig.heal([soft, made], [seasoned, fresh]);
    for (const { apiKey } of [made, soft]) expect(await call(fresh, apiKey.secret)).toBe("200");
  }, 60_000);

  it("is none at any moment between the loss and the return of all", async () => {
    const made = await rig.organisation("enforce");
    const hash = hashApiKey(TEST_PEPPER, made.apiKey.secret);
    for (let loss = 0; loss < 10; loss += 1) {
      const subscriber = connectPatient(rig.redisUrl, "spillway-test-changes");
      const policies = new RedisPolicySource(rig.bench.store, subscriber);
      await rig.bench.store.redis.flushall();
      const back = drainChanges(rig.bench.control);
      for (let isKnown = false; !isKnown;) {
        const found = await lookUp(policies, made.organisationId, hash);
        expect(found).not.toBe("unknown");
        isKnown = found === "known";
      }
      await back;
      await policies.close();
    }
  }, 60_000);

  it("is none where it goes away after its whole was read anew, and before a key was", async () => {
    const made = await rig.organisation("warn");
    const gateway = await rig.bench.gateway({ journal: journal() });
    expect(await call(gateway, made.apiKey.secret)).toBe("200");
    const hash = hashApiKey(TEST_PEPPER, made.apiKey.secret);
    const subscriber = connectPatient(rig.redisUrl, "spillway-test-changes");
    const policies = new RedisPolicySource(rig.bench.store, subscriber);
    expect(await lookUp(policies, made.organisationId, hash)).toBe("known");
    policies.suspect(made.organisationId);
    // The second waits for the reading of the whole, which has begun meanwhile.
    for (let count = 0; count < 2; count += 1) await policies.catchUp(made.organisationId);
    await rig.stopStore();
    expect(await lookUp(policies, made.organisationId, hash)).toBe("known");
    await rig.startStore();
    await rig.heal([made], [gateway]);
    await policies.close();
  }, 60_000);

  it("heals when it loses them again, although every gateway had announced to this very server", async () => {
    const made = await rig.organisation("enforce");
    const gateway = await rig.bench.gateway();
    for (let loss = 0; loss < 3; loss += 1) {
      expect(await call(gateway, made.apiKey.secret)).toBe("200");
      await expect.poll(async () => (await rig.books(made)).entries).toBe(loss + 1);
      await rig.bench.store.redis.flushall();
      await rig.heal([made], [gateway]);
    }
    const booked = await rig.books(made);
    expect(booked).toMatchObject({ entries: 3, settled: booked.sum, held: 0n });
  }, 60_000);

  it("refuses without its snapshot, also at a process that never saw it, until it is published again", async () => {
    const [made, soft] = [await rig.organisation("enforce"), await rig.organisation("warn")];
    const gateway = await rig.bench.gateway({ journal: journal() });
    for (const one of [made, soft]) expect(await call(gateway, one.apiKey.secret)).toBe("200");
    for (const { organisationId } of [made, soft]) {
      const { epoch, snapshot, apiKeys, changes } = keysOf(organisationId);
      await rig.bench.store.redis.del(epoch, snapshot, apiKeys, changes);
    }
    const stranger = await rig.bench.gateway();
    for (let count = 0; count < 3; count += 1) {
      expect(await call(gateway, made.apiKey.secret)).toBe("503 quota_store_unavailable");
      expect(await call(stranger, made.apiKey.secret)).toBe("503 quota_store_unavailable");
      expect(await call(gateway, soft.apiKey.secret)).toBe("200");
      await gateway.ledger.heartbeat();
    }
    await drainChanges(rig.bench.control);
    await expect.poll(() => call(stranger, made.apiKey.secret)).toBe("200");
    await expect.poll(() => call(gateway, made.apiKey.secret)).toBe("200");
    await rig.heal([soft], [gateway]);
    const booked = await rig.books(soft);
    expect(booked).toMatchObject({ entries: 4, estimated: 0, settled: booked.sum, held: 0n });
  }, 60_000);
});
