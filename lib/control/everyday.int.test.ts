import { afterAll, beforeAll, expect, test } from "vitest";
import { hashApiKey } from "@/lib/config/key-hash";
import { deleteOldIdempotencyRecords } from "@/lib/db/idempotency-records";
import { keysOf } from "@/lib/redis/keys";
import { TEST_PEPPER, createTestControl, createTestOrganisation, testPrincipal } from "@/lib/testing/factories";
import type { TestControl, TestOrganisation } from "@/lib/testing/factories";
import { testDatabaseUrl, testRedisUrl } from "@/lib/testing/services";
import { freezeApiKey, unfreezeApiKey } from "./api-keys";
import { freezeConsumer, unfreezeConsumer, updateConsumer } from "./consumers";
import { withIdempotencyKey } from "./idempotency";
import { updateOrganisation } from "./organisations";
import { activatePolicyVersion, publishPolicyVersion } from "./policies";
import { isUndoable } from "./undo";

let deps: TestControl;
let org: TestOrganisation;
beforeAll(async () => {
  deps = createTestControl(await testDatabaseUrl(), testRedisUrl());
  org = await createTestOrganisation(deps, { models: [] });
});
afterAll(async () => {
  await deps.close();
});

const pushed = async (field: string): Promise<Record<string, unknown>> =>
  JSON.parse((await deps.redis.hget(keysOf(org.organisationId).snapshot, field)) ?? "{}");

test("names and settings reach the gateway with the call that changes them", async () => {
  const { organisationId } = org;
  await updateOrganisation(deps, testPrincipal, { organisationId, budgetRefusalStatus: 402 });
  expect(await pushed("o")).toMatchObject({ budgetRefusalStatus: 402, name: "Test company" });
  await updateConsumer(deps, testPrincipal, { organisationId, consumerId: org.consumers.team, name: "Search" });
  expect(await pushed(`c:${org.consumers.team}`)).toMatchObject({ name: "Search" });
});

test("a freeze of a key or a node bites and lifts at once", async () => {
  const { organisationId } = org;
  const key = { organisationId, apiKeyId: org.apiKey.id };
  const keyDocument = async (): Promise<unknown> =>
    JSON.parse(
      (await deps.redis.hget(keysOf(organisationId).apiKeys, hashApiKey(TEST_PEPPER, org.apiKey.secret))) ?? "{}",
    );
  await freezeApiKey(deps, testPrincipal, key);
  expect(await keyDocument()).toMatchObject({ frozen: true });
  await unfreezeApiKey(deps, testPrincipal, key);
  expect(await keyDocument()).toMatchObject({ frozen: false });

  const node = { organisationId, consumerId: org.consumers.department };
  await freezeConsumer(deps, testPrincipal, node);
  expect(await pushed(`c:${node.consumerId}`)).toMatchObject({ frozen: true });
  await unfreezeConsumer(deps, testPrincipal, node);
  expect(await pushed(`c:${node.consumerId}`)).toMatchObject({ frozen: false });
});

test("an earlier policy version can be made active again", async () => {
  const ref = { organisationId: org.organisationId, policyId: org.policyId ?? "" };
  const first = await publishPolicyVersion(deps, testPrincipal, { ...ref, document: { outputCapTokens: 1 } });
  await publishPolicyVersion(deps, testPrincipal, { ...ref, document: { outputCapTokens: 2 } });
  await activatePolicyVersion(deps, testPrincipal, { ...ref, policyVersionId: first.version.id });
  expect(await pushed(`p:${ref.policyId}`)).toMatchObject({ active: { document: { outputCapTokens: 1 } } });
});

test("only changes of budgets say that they can be undone", () => {
  expect(isUndoable("budget.update")).toBe(true);
  expect(isUndoable("key.revoke")).toBe(false);
  expect(isUndoable("toString")).toBe(false);
});

test("old answers of writes are dropped, fresh ones stay", async () => {
  const once = withIdempotencyKey(deps, "keep-me", "body");
  await updateOrganisation(once, testPrincipal, { organisationId: org.organisationId, locale: "zh-CN" });
  await deleteOldIdempotencyRecords(deps.db.prisma, new Date(Date.now() - 86_400_000));
  const count = () => deps.db.prisma.idempotencyRecord.count({ where: { organisationId: org.organisationId } });
  expect(await count()).toBe(1);
  await deleteOldIdempotencyRecords(deps.db.prisma, new Date(Date.now() + 1_000));
  expect(await count()).toBe(0);
});
