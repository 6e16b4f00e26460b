import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findOrganisation } from "@/lib/db/organisations";
import { listSnapshotChanges } from "@/lib/db/snapshot-changes";
import { hashApiKey } from "@/lib/config/key-hash";
import { apiKeyDocument, budgetDocument, modelDocument } from "@/lib/domain/snapshot";
import { keysOf } from "@/lib/redis/keys";
import { pushSnapshot } from "@/lib/redis/snapshot-publisher";
import { TEST_PEPPER, createTestControl, createTestOrganisation, testPrincipal } from "@/lib/testing/factories";
import type { TestOrganisation } from "@/lib/testing/factories";
import { startRedis } from "@/lib/services/redis";
import { throwAwayFolder } from "@/lib/services/throw-away";
import { testDatabaseUrl, testRedisUrl } from "@/lib/testing/services";
import { revokeApiKey, rotateApiKey } from "./api-keys";
import { updateBudget } from "./budgets";
import { archiveConsumer, freezeConsumer } from "./consumers";
import type { ControlDeps } from "./deps";
import { grantBudget, revokeGrant } from "./grants";
import { drainChanges, publishAll, publishChanges } from "./snapshots";

let deps: Awaited<ReturnType<typeof makeDeps>>;
const makeDeps = async () => createTestControl(await testDatabaseUrl(), testRedisUrl());

beforeAll(async () => {
  deps = await makeDeps();
});
afterAll(async () => {
  await deps.close();
});

const organisationBudget = (org: TestOrganisation) => {
  const budget = org.budgets.organisation;
  if (budget === undefined) throw new Error("no budget");
  return budget;
};
const limitOf = (org: TestOrganisation) =>
  deps.redis.hgetall(keysOf(org.organisationId).limit(organisationBudget(org).id));
const epochs = async (organisationId: string, control: ControlDeps = deps) => ({
  redis: await control.redis.get(keysOf(organisationId).epoch),
  database: (await findOrganisation(control.db.prisma, organisationId))?.snapshotEpoch.toString(),
});

async function raiseLimit(control: ControlDeps, org: TestOrganisation, limitAmount: string, expectedVersion: string) {
  return updateBudget(control, testPrincipal, {
    organisationId: org.organisationId,
    budgetId: organisationBudget(org).id,
    expectedVersion,
    limitAmount,
  });
}

describe("what gateways read", () => {
  test("a new organisation stands in Redis whole: documents, key, limits, and the database's epoch", async () => {
    const org = await createTestOrganisation(deps);
    const keys = keysOf(org.organisationId);
    const budget = organisationBudget(org);
    const snapshot = await deps.redis.hgetall(keys.snapshot);
    expect(budgetDocument.parse(JSON.parse(snapshot[`b:${budget.id}`] ?? ""))).toMatchObject({ meter: "cost" });
    const model = modelDocument.parse(JSON.parse(snapshot[`m:${org.models["sandbox-large"]?.id ?? ""}`] ?? ""));
    expect(model.prices[0]?.rates.inputPerToken).toBe("0.0000025");
    expect(model.deployments).toHaveLength(1);
    const key = await deps.redis.hget(keys.apiKeys, hashApiKey(TEST_PEPPER, org.apiKey.secret));
    expect(apiKeyDocument.parse(JSON.parse(key ?? "")).keyId).toBe(org.apiKey.id);
    expect(await limitOf(org)).toEqual({ l: "100000000000", o: "0", f: "0", v: "1" });
    const { redis, database } = await epochs(org.organisationId);
    expect(redis).toBe(database);
  });

  test("a change of a limit stands in Redis when the call returns", async () => {
    const org = await createTestOrganisation(deps);
    await raiseLimit(deps, org, "1", "1");
    for (let version = 2; version < 12; version += 1) {
      await raiseLimit(deps, org, String(version * 1000), String(version));
      expect((await limitOf(org))["l"]).toBe(String(version * 1000));
    }
  });

  test("a grant is an absolute value that holds at once, whatever the clock of who gave it, to its end, and is gone once revoked", async () => {
    const org = await createTestOrganisation(deps);
    const { grant } = await grantBudget(deps, testPrincipal, {
      organisationId: org.organisationId,
      budgetId: organisationBudget(org).id,
      amount: "5000",
      reason: "launch week",
      endsAtMs: null,
    });
    const field = `g:${grant.periodId}`;
    expect((await limitOf(org))[field]).toBe(`5000,0,${grant.endsAt.getTime()}`);
    await revokeGrant(deps, testPrincipal, { organisationId: org.organisationId, grantId: grant.id });
    expect((await limitOf(org))[field]).toBeUndefined();
  });

  test("a revoked key, and a key of an archived app, leave the key hash and are named in the change log", async () => {
    const org = await createTestOrganisation(deps);
    const keys = keysOf(org.organisationId);
    const hash = hashApiKey(TEST_PEPPER, org.apiKey.secret);
    const ref = { organisationId: org.organisationId, apiKeyId: org.apiKey.id };
    const rotated = await rotateApiKey(deps, testPrincipal, { ...ref, graceSeconds: 60 });
    const next = hashApiKey(TEST_PEPPER, rotated.secret);
    expect(JSON.parse((await deps.redis.hget(keys.apiKeys, hash)) ?? "{}").validUntilMs).toBeGreaterThan(Date.now());
    expect(JSON.parse((await deps.redis.hget(keys.apiKeys, next)) ?? "{}").validUntilMs).toBeNull();
    await revokeApiKey(deps, testPrincipal, ref);
    expect(await deps.redis.hlen(keys.apiKeys)).toBe(0);
    expect(await deps.redis.zscore(keys.changes, `k:${next}`)).toBe((await epochs(org.organisationId)).redis);

    const other = await createTestOrganisation(deps);
    await archiveConsumer(deps, testPrincipal, {
      organisationId: other.organisationId,
      consumerId: other.consumers.app,
    });
    expect(await deps.redis.hlen(keysOf(other.organisationId).apiKeys)).toBe(0);
    expect(await deps.redis.hget(keysOf(other.organisationId).snapshot, `c:${other.consumers.app}`)).toBeNull();
  });

  test("subscribers hear the new epoch", async () => {
    const org = await createTestOrganisation(deps);
    const listener = deps.redis.duplicate();
    const heard = new Promise<string>((resolve) => listener.on("message", (_channel, message) => resolve(message)));
    await listener.subscribe(keysOf(org.organisationId).channel);
    await freezeConsumer(deps, testPrincipal, { organisationId: org.organisationId, consumerId: org.consumers.app });
    expect(await heard).toBe((await epochs(org.organisationId)).redis);
    listener.disconnect();
  });
});

describe("the outbox", () => {
  test("a process that dies after the commit loses nothing: the drain brings the change", async () => {
    const org = await createTestOrganisation(deps);
    await raiseLimit({ ...deps, publishes: false }, org, "77", "1");
    expect((await limitOf(org))["l"]).toBe("100000000000");
    await drainChanges(deps);
    expect((await limitOf(org))["l"]).toBe("77");
    expect(await listSnapshotChanges(deps.db.prisma, org.organisationId)).toEqual([]);
  });

  test("a late publisher never puts an old state over a newer one", async () => {
    const org = await createTestOrganisation(deps);
    const before = await findOrganisation(deps.db.prisma, org.organisationId);
    await raiseLimit(deps, org, "2000", "1");
    const old = { limit: "1", overflow: "0", frozen: false, version: "1", grants: {} };
    const late = await pushSnapshot(deps.redis, {
      organisationId: org.organisationId,
      epoch: before?.snapshotEpoch ?? 0n,
      publishedEpoch: 0n,
      mode: "part",
      documents: new Map(),
      apiKeys: new Map(),
      limits: new Map([[organisationBudget(org).id, old]]),
      openings: [],
    });
    expect(late.outcome).toBe("already");
    expect((await limitOf(org))["l"]).toBe("2000");
  });

  test("a forced whole stands although other publishers see its epoch first", async () => {
    const org = await createTestOrganisation(deps);
    for (let round = 0; round < 15; round += 1) {
      await deps.redis.hset(keysOf(org.organisationId).limit(organisationBudget(org).id), "l", "1");
      const eager = Array.from({ length: 5 }, () => publishChanges(deps, org.organisationId));
      await Promise.all([publishAll(deps, org.organisationId, { force: true }), ...eager]);
      expect((await limitOf(org))["l"]).toBe(organisationBudget(org).limitAmount.toString());
    }
  });

  test("many writers and publishers at once end with Redis equal to the database and an empty outbox", async () => {
    const org = await createTestOrganisation(deps);
    const ref = { organisationId: org.organisationId, budgetId: organisationBudget(org).id };
    await Promise.all([
      ...Array.from({ length: 12 }, (_, index) =>
        grantBudget(deps, testPrincipal, { ...ref, amount: String(index + 1), reason: "many at once", endsAtMs: null }),
      ),
      publishChanges(deps, org.organisationId),
      publishAll(deps, org.organisationId, { force: true }),
    ]);
    await publishChanges(deps, org.organisationId);
    const field = Object.entries(await limitOf(org)).find(([name]) => name.startsWith("g:"));
    const amounts = field?.[1].split(";").map((grant) => Number(grant.split(",")[0]));
    expect(amounts?.reduce((sum, amount) => sum + amount, 0)).toBe(78);
    expect(await listSnapshotChanges(deps.db.prisma, org.organisationId)).toEqual([]);
    const { redis, database } = await epochs(org.organisationId);
    expect(redis).toBe(database);
  });

  test("a push lost with Redis' data is found and the whole is sent, even when a later change comes first", async () => {
    const org = await createTestOrganisation(deps);
    const keys = keysOf(org.organisationId);
    await raiseLimit(deps, org, "2000", "1");
    await deps.redis.unlink(
      keys.epoch,
      keys.snapshot,
      keys.apiKeys,
      keys.changes,
      keys.limit(organisationBudget(org).id),
    );
    await freezeConsumer(deps, testPrincipal, { organisationId: org.organisationId, consumerId: org.consumers.app });
    expect((await limitOf(org))["l"]).toBe("2000");
    expect(await deps.redis.hlen(keys.apiKeys)).toBe(1);

    await deps.redis.unlink(keys.epoch, keys.snapshot);
    await drainChanges(deps);
    expect(JSON.parse((await deps.redis.hget(keys.snapshot, `c:${org.consumers.app}`)) ?? "{}").frozen).toBe(true);
  });

  test("a database restored from a backup is heard again by a Redis that is ahead of it", async () => {
    const org = await createTestOrganisation(deps);
    await deps.redis.set(keysOf(org.organisationId).epoch, "5000");
    await raiseLimit(deps, org, "3000", "1");
    expect((await limitOf(org))["l"]).toBe("3000");
    const { redis, database } = await epochs(org.organisationId);
    expect(redis).toBe(database);
    expect(Number(redis)).toBeGreaterThan(5000);
  });

  test("while Redis is away writes succeed, say so, and arrive when it is back", async () => {
    const dataDir = throwAwayFolder("spillway-redis");
    const redis = await startRedis({ dataDir, appendonly: false });
    const told: string[] = [];
    const control = createTestControl(await testDatabaseUrl(), redis.url);
    const away = { ...control, onPublishFailure: (organisationId: string) => told.push(organisationId) };
    const org = await createTestOrganisation(away);
    const port = Number(new URL(redis.url).port);
    await redis.stop();
    await raiseLimit(away, org, "4000", "1");
    expect(told).toEqual([org.organisationId]);
    const back = await startRedis({ dataDir, appendonly: false, port });
    await drainChanges(control);
    const key = keysOf(org.organisationId).limit(organisationBudget(org).id);
    expect(await control.redis.hget(key, "l")).toBe("4000");
    await control.close();
    await back.stop();
  });
});
