import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hashApiKey } from "@/lib/config/key-hash";
import { AppError } from "@/lib/domain/fault";
import type { Principal } from "@/lib/domain/role";
import { apiKeyDocument, modelDocument } from "@/lib/domain/snapshot";
import { keysOf } from "@/lib/redis/keys";
import { TEST_PEPPER, createTestControl, createTestOrganisation, testPrincipal } from "@/lib/testing/factories";
import type { TestControl, TestOrganisation } from "@/lib/testing/factories";
import { testDatabaseUrl, testRedisUrl } from "@/lib/testing/services";
import { createApiKey, rotateApiKey } from "./api-keys";
import { createConsumer } from "./consumers";

let deps: TestControl;
let org: TestOrganisation;
let other: TestOrganisation;
beforeAll(async () => {
  deps = createTestControl(await testDatabaseUrl(), testRedisUrl());
  org = await createTestOrganisation(deps, { models: [] });
  other = await createTestOrganisation(deps, { models: [] });
});
afterAll(async () => {
  await deps.close();
});

const draft = () => ({
  organisationId: org.organisationId,
  appId: org.consumers.app,
  name: "mine",
  environment: "production" as const,
  trafficClass: "general",
  entitledClasses: [],
  expiresAtMs: null,
  allowedIps: [] as string[],
});
const make = (changes: object = {}, principal: Principal = testPrincipal) =>
  createApiKey(deps, principal, { ...draft(), ...changes });
const faultOf = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "done",
    (error: unknown) =>
      error instanceof AppError ? [error.code, ...Object.keys(error.fields ?? {})].join(" ") : String(error),
  );
const documentOf = async (secret: string) =>
  apiKeyDocument.parse(
    JSON.parse((await deps.redis.hget(keysOf(org.organisationId).apiKeys, hashApiKey(TEST_PEPPER, secret))) ?? ""),
  );

describe("a new key", () => {
  test.each(["999.1.1.1", "10.0.0.0/33", "::::", "10.0.0.1-10.0.0.9", "localhost", "1.2.3", "fe80::1%eth0", "*"])(
    "is not made with the address %s",
    async (address) => {
      expect(await faultOf(make({ allowedIps: ["10.0.0.0/8", address] }))).toBe("invalid_request allowedIps.1");
    },
  );

  test("takes addresses and ranges of both families", async () => {
    const allowedIps = ["203.0.113.7", "10.0.0.0/8", "2001:db8::1", "2001:db8::/32"];
    expect((await documentOf((await make({ allowedIps })).secret)).allowedIps).toEqual(allowedIps);
  });

  test("has no scope that does not exist, and gateways read those that do", async () => {
    expect(await faultOf(make({ scopes: ["chat", "admin"] }))).toBe("invalid_request scopes.1");
    expect(await faultOf(make({ scopes: ["Chat"] }))).toBe("invalid_request scopes.0");
    const { secret } = await make({ scopes: ["embeddings", "chat", "chat"] });
    expect((await documentOf(secret)).scopes).toEqual(["embeddings", "chat"]);
  });

  test("keeps scopes and entitlements when it is rotated", async () => {
    const made = await make({ scopes: ["audio"], entitledConsumers: [org.consumers.team] });
    const ref = { organisationId: org.organisationId, apiKeyId: made.apiKey.id };
    const { secret, apiKey } = await rotateApiKey(deps, testPrincipal, { ...ref, graceSeconds: 0 });
    expect(apiKey.id).toBe(made.apiKey.id);
    expect(await documentOf(secret)).toMatchObject({ scopes: ["audio"], entitledConsumers: [org.consumers.team] });
  });

  test("does not end before it begins", async () => {
    expect(await faultOf(make({ expiresAtMs: Date.now() - 1 }))).toBe("invalid_request expiresAtMs");
    expect(await faultOf(make({ expiresAtMs: Number.NaN }))).toBe("invalid_request expiresAtMs");
    expect(await faultOf(make({ expiresAtMs: Number.POSITIVE_INFINITY }))).toBe("invalid_request expiresAtMs");
  });
});

describe("entitled consumers", () => {
  test("of another organisation, and ones that do not exist, are not found", async () => {
    expect(await faultOf(make({ entitledConsumers: [other.consumers.app] }))).toBe("not_found");
    expect(await faultOf(make({ entitledConsumers: ["con_nobody"] }))).toBe("not_found");
  });

  test("are given by those alone who may make keys there too", async () => {
    const { consumer: sister } = await createConsumer(deps, testPrincipal, {
      organisationId: org.organisationId,
      parentId: org.consumers.department,
      kind: "team",
      name: "Sister team",
    });
    const developer: Principal = {
      userId: "usr_dev",
      label: "dev",
      memberships: [{ organisationId: org.organisationId, consumerId: org.consumers.team, role: "developer" }],
    };
    expect(await faultOf(make({ entitledConsumers: [sister.id] }, developer))).toBe("not_found");
    const { secret } = await make({ entitledConsumers: [org.consumers.app, org.consumers.app] }, developer);
    expect((await documentOf(secret)).entitledConsumers).toEqual([org.consumers.app]);
  });
});

describe("the secret of a key that was made for others", () => {
  const at = (consumerId: string, role: "developer" | "lead"): Principal => ({
    userId: `usr_${role}`,
    label: role,
    memberships: [{ organisationId: org.organisationId, consumerId, role }],
  });
  const rotated = async (changes: object, by: Principal): Promise<string> => {
    const { apiKey } = await make(changes);
    const ref = { organisationId: org.organisationId, apiKeyId: apiKey.id };
    return faultOf(rotateApiKey(deps, by, { ...ref, graceSeconds: 0 }));
  };

  test.each([{ isVip: true }, { trafficClass: "core" }, { entitledClasses: ["core"] }])(
    "is not to be had by rotating it, where it escapes the ladder: %j",
    async (changes) => {
      expect(await rotated(changes, at(org.consumers.team, "developer"))).toBe("invalid_request trafficClass");
      expect(await rotated(changes, at(org.consumers.team, "lead"))).toBe("done");
    },
  );

  test("is not to be had by rotating it, where it books on nodes that are not one's own", async () => {
    const changes = { entitledConsumers: [org.consumers.team] };
    expect(await rotated(changes, at(org.consumers.app, "developer"))).toBe("not_found");
    expect(await rotated(changes, at(org.consumers.team, "developer"))).toBe("done");
    expect(await rotated({}, at(org.consumers.app, "developer"))).toBe("done");
  });
});

test("documents written before scopes, regions and context windows existed are read with defaults", () => {
  expect(apiKeyDocument.parse(keyBefore)).toMatchObject({ scopes: [], entitledConsumers: [] });
  const model = modelDocument.parse(modelBefore);
  expect(model.contextTokens).toBeNull();
  expect(model.deployments[0]).toMatchObject({ region: null, connectTimeoutMs: null, idleTimeoutMs: null });
});

const keyBefore = {
  keyId: "k",
  appId: "a",
  name: "n",
  environment: "test",
  trafficClass: "general",
  entitledClasses: [],
  isVip: false,
  allowedIps: [],
  policyId: null,
  validUntilMs: null,
  frozen: false,
};
const modelBefore = {
  id: "m",
  name: "m",
  kind: "chat",
  maxOutputTokens: null,
  isExternal: false,
  disabled: false,
  createdMs: 0,
  deployments: [{ id: "d", providerId: "p", upstreamModel: "m", weight: 1, priority: 0, timeoutMs: 1000 }],
  prices: [],
};
