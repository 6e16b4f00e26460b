import { afterAll, beforeAll, expect, test } from "vitest";
import { fxDocument, modelDocument, providerDocument } from "@/lib/domain/snapshot";
import { keysOf } from "@/lib/redis/keys";
import { createTestControl, createTestOrganisation } from "@/lib/testing/factories";
import type { TestControl } from "@/lib/testing/factories";
import { testDatabaseUrl, testRedisUrl } from "@/lib/testing/services";
import { publishAll } from "@/lib/control/snapshots";
import { addVendors } from "./build-models";
import { VENDORS } from "./vendors";

let deps: TestControl;
beforeAll(async () => {
  deps = createTestControl(await testDatabaseUrl(), testRedisUrl());
});
afterAll(async () => {
  await deps.close();
});

test("each vendor whose key is in the environment is entered with priced models, and the others are not", async () => {
  const { organisationId } = await createTestOrganisation(deps, { models: [] });
  const keys = Object.fromEntries(VENDORS.map((vendor) => [vendor.variable, `key-of-${vendor.name}-1234567890`]));
  const quiet = { ...deps, publishes: false };
  expect(await addVendors(quiet, organisationId, { ...keys, GEMINI_API_KEY: "" }, 1)).toHaveLength(VENDORS.length - 1);
  await publishAll(deps, organisationId, { force: true });
  const snapshot = Object.entries(await deps.redis.hgetall(keysOf(organisationId).snapshot));
  const documents = (letter: string) =>
    snapshot.filter(([field]) => field.startsWith(letter)).map(([, json]) => JSON.parse(json) as unknown);
  const kinds = documents("v:").map((one) => providerDocument.parse(one).kind);
  expect(kinds).toEqual(expect.arrayContaining(["anthropic", "dashscope", "ark", "deepseek", "zhipu", "moonshot"]));
  expect(kinds).not.toContain("gemini");
  const models = documents("m:").map((one) => modelDocument.parse(one));
  for (const model of models) {
    expect([model.name, model.prices.length, model.deployments.length]).toEqual([model.name, 1, 1]);
  }
  const qwen = models.find((model) => model.name === "qwen3-max");
  expect(qwen).toMatchObject({ contextTokens: 262_144, prices: [{ currency: "CNY" }] });
  expect(qwen?.deployments[0]?.region).toBe("cn");
  const [fx] = documents("x").map((one) => fxDocument.parse(one));
  expect(fx?.map((row) => [row.base, row.quote])).toEqual([["CNY", "USD"]]);
});
