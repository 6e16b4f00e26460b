import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openSecret, providerSecretContext } from "@/lib/config/secret-box";
import { listProviderBoxes } from "@/lib/db/providers";
import { AppError } from "@/lib/domain/fault";
import { modelDocument, policySnapshotDocument } from "@/lib/domain/snapshot";
import { keysOf } from "@/lib/redis/keys";
import { TEST_MASTER_KEY, createTestControl, createTestOrganisation, testPrincipal } from "@/lib/testing/factories";
import type { TestControl, TestOrganisation } from "@/lib/testing/factories";
import { testDatabaseUrl, testRedisUrl } from "@/lib/testing/services";
import { publishPolicyVersion } from "./policies";
import { abortRollout, completeRollout, startRollout } from "./rollouts";
import { addFxRate, addPrice } from "./prices";
import { upsertProvider } from "./providers";
import { removeSampleData } from "./sample-data";
import { createUser, removeMembership } from "./users";
import { systemPrincipal } from "@/lib/domain/role";

let deps: TestControl;
beforeAll(async () => {
  deps = createTestControl(await testDatabaseUrl(), testRedisUrl());
  // The first one compiles and connects everything; that must not count against a test's time.
  await createTestOrganisation(deps, { models: ["sandbox-small"] });
});
afterAll(async () => {
  await deps.close();
});
const codeOf = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "done",
    (error: unknown) => (error instanceof AppError ? error.code : String(error)),
  );

describe("prices", () => {
  const price = (org: TestOrganisation, input: string, changes: object = {}) =>
    addPrice(deps, testPrincipal, {
      organisationId: org.organisationId,
      modelId: org.models["sandbox-small"]?.id ?? "",
      currency: "USD",
      perMillion: { input, output: "0.60" },
      ...changes,
    });

  test("a new price ends the last one at its first moment and both are pushed with exact rates per token", async () => {
    const org = await createTestOrganisation(deps, { models: ["sandbox-small"] });
    const fromMs = Date.now() + 3_600_000;
    await price(org, "0.30", { effectiveFromMs: fromMs });
    const text = await deps.redis.hget(
      keysOf(org.organisationId).snapshot,
      `m:${org.models["sandbox-small"]?.id ?? ""}`,
    );
    const [present, coming] = modelDocument.parse(JSON.parse(text ?? "")).prices;
    expect(present).toMatchObject({ effectiveToMs: fromMs, rates: { inputPerToken: "0.00000015" } });
    expect(coming).toMatchObject({
      effectiveFromMs: fromMs,
      effectiveToMs: null,
      rates: { inputPerToken: "0.0000003" },
    });
  });

  test("a slipped decimal point must be confirmed, and a price never reaches back into booked calls", async () => {
    const org = await createTestOrganisation(deps, { models: ["sandbox-small"] });
    expect(await codeOf(price(org, "15.01"))).toBe("invalid_request");
    expect(await codeOf(price(org, "10001", { confirmSuspicious: false }))).toBe("invalid_request");
    expect(await codeOf(price(org, "0.2", { effectiveFromMs: Date.now() - 60_000 }))).toBe("invalid_request");
    expect(await codeOf(price(org, "1e3"))).toBe("invalid_request");
    expect(await codeOf(price(org, "15.01", { confirmSuspicious: true }))).toBe("done");
  });

  test("a typed price may say all that a row may say, in one of two ways", async () => {
    const org = await createTestOrganisation(deps, { models: ["sandbox-small"] });
    const add = (changes: object) =>
      addPrice(deps, testPrincipal, {
        organisationId: org.organisationId,
        modelId: org.models["sandbox-small"]?.id ?? "",
        currency: "USD",
        ...changes,
      });
    const rates = { inputPerToken: "0.0000002", webSearch: { high: "0.01" }, perImage: "0.04" };
    expect(await codeOf(add({}))).toBe("invalid_request");
    expect(await codeOf(add({ rates: {} }))).toBe("invalid_request");
    expect(await codeOf(add({ rates, perMillion: { input: "1" } }))).toBe("invalid_request");
    expect(await codeOf(add({ rates: { ...rates, perPage: "NaN" } }))).toBe("invalid_request");
    expect(await codeOf(add({ rates: { ...rates, perPage: "1e309" } }))).toBe("invalid_request");
    expect(await codeOf(add({ rates: { ...rates, outputPerToken: "0.02" } }))).toBe("invalid_request");
    expect((await add({ rates })).price.rates).toEqual(rates);
  });

  test("exchange rates of zero, of one currency to itself and twice for one moment are refused", async () => {
    const org = await createTestOrganisation(deps, { models: [] });
    const rate = (quote: string, text: string) =>
      codeOf(
        addFxRate(deps, testPrincipal, {
          organisationId: org.organisationId,
          base: "USD",
          quote,
          rate: text,
          effectiveFromMs: 1_000,
        }),
      );
    expect(await rate("CNY", "0.0")).toBe("invalid_request");
    expect(await rate("USD", "1")).toBe("invalid_request");
    expect(await rate("CNY", "7.1")).toBe("done");
    expect(await rate("CNY", "7.2")).toBe("conflict");
    expect(JSON.parse((await deps.redis.hget(keysOf(org.organisationId).snapshot, "x")) ?? "[]")).toHaveLength(1);
  });
});

test("a provider's secret is stored and pushed sealed, opens for its own row only and never comes back", async () => {
  const org = await createTestOrganisation(deps, { models: [] });
  const { provider } = await upsertProvider(deps, testPrincipal, {
    organisationId: org.organisationId,
    name: "Vendor",
    kind: "openai-compatible",
    baseUrl: "https://vendor.example/v1",
    secret: "vendor-secret-that-is-long",
  });
  expect(JSON.stringify(provider)).not.toContain("vendor-secret");
  const pushed = await deps.redis.hget(keysOf(org.organisationId).snapshot, `v:${provider.id}`);
  expect(pushed).not.toContain("vendor-secret");
  const box = (await listProviderBoxes(deps.db.prisma, org.organisationId)).get(provider.id) ?? "";
  expect(JSON.parse(pushed ?? "{}").secretBox).toBe(box);
  const open = (context: string) => openSecret(TEST_MASTER_KEY, Buffer.from(box, "base64"), context);
  expect(open(providerSecretContext(org.organisationId, provider.id))).toBe("vendor-secret-that-is-long");
  expect(() => open(providerSecretContext(org.organisationId, org.provider.id))).toThrow();
});

describe("policies", () => {
  const pushedPolicy = async (org: TestOrganisation) => {
    const text = await deps.redis.hget(keysOf(org.organisationId).snapshot, `p:${org.policyId ?? ""}`);
    return policySnapshotDocument.parse(JSON.parse(text ?? ""));
  };

  test("a rollout exposes a version beside the active one, and abort and complete end it at once", async () => {
    const org = await createTestOrganisation(deps, { models: [] });
    const ref = { organisationId: org.organisationId, policyId: org.policyId ?? "" };
    const document = { outputCapTokens: 100 };
    const { version } = await publishPolicyVersion(deps, testPrincipal, { ...ref, document, activate: false });
    expect((await pushedPolicy(org)).rollout).toBeNull();
    const start = { ...ref, policyVersionId: version.id };
    const { rollout } = await startRollout(deps, testPrincipal, { ...start, percent: 10 });
    expect((await pushedPolicy(org)).rollout).toMatchObject({ percent: 10, document });
    expect(await codeOf(publishPolicyVersion(deps, testPrincipal, { ...ref, document }))).toBe("conflict");
    const end = { organisationId: org.organisationId, rolloutId: rollout.id };
    await abortRollout(deps, testPrincipal, end);
    expect((await pushedPolicy(org)).rollout).toBeNull();
    expect(await codeOf(abortRollout(deps, testPrincipal, end))).toBe("conflict");

    const again = await startRollout(deps, testPrincipal, { ...start, percent: 50 });
    await completeRollout(deps, testPrincipal, { ...end, rolloutId: again.rollout.id });
    expect(await pushedPolicy(org)).toMatchObject({ active: { versionId: version.id }, rollout: null });
  });

  test("a fallback price takes the right to write prices, and a slipped point must be confirmed", async () => {
    const org = await createTestOrganisation(deps, { models: [] });
    const { organisationId } = org;
    const ref = { organisationId, policyId: org.policyId ?? "" };
    const lead = {
      userId: "usr_lead",
      label: "lead",
      memberships: [{ organisationId, consumerId: organisationId, role: "lead" as const }],
    };
    const fallback = (inputPerToken: string) => ({
      fallbackPrice: { currency: "USD", rates: { inputPerToken, outputPerToken: "0.00003" } },
    });
    const publish = (document: object, principal = testPrincipal as typeof lead | typeof testPrincipal, more = {}) =>
      codeOf(publishPolicyVersion(deps, principal, { ...ref, document, ...more }));
    expect(await publish(fallback("0.00001"), lead)).toBe("not_found");
    expect(await publish(fallback("0.011"))).toBe("invalid_request");
    expect(await publish(fallback("0.00001"))).toBe("done");
    expect(await publish({ ...fallback("0.00001"), outputCapTokens: 9 }, lead)).toBe("done");
    expect(await publish(fallback("0.0010001"))).toBe("invalid_request");
    expect(await publish(fallback("0.0010001"), testPrincipal, { confirmSuspicious: true })).toBe("done");
    expect((await pushedPolicy(org)).active?.document.fallbackPrice?.rates.inputPerToken).toBe("0.0010001");
  });

  test("a version can be neither changed nor deleted", async () => {
    const org = await createTestOrganisation(deps, { models: [] });
    const refused = (sql: string) =>
      expect(deps.db.pool.query(`${sql} WHERE organisation_id = $1`, [org.organisationId])).rejects.toThrow(
        /insert-only/u,
      );
    await refused("UPDATE policy_versions SET note = 'x'");
    await refused("DELETE FROM policy_versions");
  });
});

describe("people", () => {
  test("an invitation never takes over an account, and the last owner stays", async () => {
    const [org, other] = [
      await createTestOrganisation(deps, { models: [] }),
      await createTestOrganisation(deps, { models: [] }),
    ];
    const email = `${org.organisationId}@example.com`;
    const invite = { email, name: "Li Na", role: "owner" as const, password: "a long enough password" };
    const first = await createUser(deps, testPrincipal, {
      ...invite,
      organisationId: org.organisationId,
      consumerId: org.organisationId,
    });
    const hash = () => deps.db.prisma.user.findUnique({ where: { email }, select: { passwordHash: true, name: true } });
    const before = await hash();
    const second = await createUser(deps, testPrincipal, {
      ...invite,
      name: "Mallory",
      password: "another long password",
      organisationId: other.organisationId,
      consumerId: other.organisationId,
    });
    expect(second).toMatchObject({ isNew: false, user: { id: first.user.id } });
    expect(await hash()).toEqual(before);
    const removal = { organisationId: org.organisationId, membershipId: first.membership.id };
    expect(await codeOf(removeMembership(deps, testPrincipal, removal))).toBe("conflict");
  });
});

test("removing the sample takes it whole from both stores and touches no real organisation", async () => {
  const sample = await createTestOrganisation(deps, { isSample: true });
  const real = await createTestOrganisation(deps);
  await deps.redis.hset(keysOf(sample.organisationId).counter("bud_x", "M2026-01"), "s", "5");
  const realKeys = await deps.redis.keys(`${keysOf(real.organisationId).prefix}*`);
  const { organisationIds } = await removeSampleData(deps, systemPrincipal("test"));
  expect(organisationIds).toContain(sample.organisationId);
  expect(organisationIds).not.toContain(real.organisationId);
  // The word for gateways that it was removed, and nothing else.
  const { prefix, epoch } = keysOf(sample.organisationId);
  expect(await deps.redis.keys(`${prefix}*`)).toEqual([epoch]);
  expect(await deps.redis.get(epoch)).toBe("0");
  expect((await deps.redis.keys(`${keysOf(real.organisationId).prefix}*`)).sort()).toEqual(realKeys.sort());
  const where = { where: { organisationId: sample.organisationId } };
  expect(await deps.db.prisma.consumer.count(where)).toBe(0);
  expect(await deps.db.prisma.auditLog.count(where)).toBe(0);
  expect(await deps.db.prisma.organisation.count({ where: { id: real.organisationId } })).toBe(1);
});
