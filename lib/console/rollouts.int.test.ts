/** Rollouts on a real Postgres: who did what, and what a version would have done with calls of the past. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { publishPolicyVersion } from "@/lib/control/policies";
import { abortRollout, holdRollout, startRollout } from "@/lib/control/rollouts";
import { listOrganisations } from "@/lib/db/console-consumers";
import { newId } from "@/lib/domain/ids";
import { MONTHLY_DEPARTMENT } from "@/lib/domain/ladder-templates";
import type { PolicyDocument } from "@/lib/domain/policy";
import type { Principal, Role } from "@/lib/domain/role";
import { createTestControl, createTestOrganisation, testPrincipal } from "@/lib/testing/factories";
import type { TestControl, TestOrganisation } from "@/lib/testing/factories";
import { testDatabaseUrl, testRedisUrl } from "@/lib/testing/services";
import { createConsoleServices } from "@/lib/wiring/console";
import type { ConsoleServices } from "@/lib/wiring/console";
import type { ConsolePrincipal } from "./principal";
import { readPolicyReplay, readRolloutHistory } from "./rollouts";

let control: TestControl;
let services: ConsoleServices;

beforeAll(async () => {
  const databaseUrl = await testDatabaseUrl();
  control = createTestControl(databaseUrl, testRedisUrl());
  services = createConsoleServices(databaseUrl, testRedisUrl(), { logLevel: "silent" });
});
afterAll(async () => {
  await services.close();
  await control.close();
});

function principalAt(organisationId: string, consumerId: string, role: Role): Principal {
  return {
    userId: "usr_test",
    label: "Wang Fang <wang@example.com>",
    memberships: [{ organisationId, consumerId, role }],
  };
}

async function personAt(organisationId: string, consumerId: string, role: Role): Promise<ConsolePrincipal> {
  const [organisation] = await listOrganisations(services.db.pool, [organisationId]);
  if (organisation === undefined) throw new Error("the organisation was just made");
  const user = { id: "usr_test", name: "Wang Fang", email: "wang@example.com" };
  return { principal: principalAt(organisationId, consumerId, role), organisation, user };
}

/** A version that waits to be rolled out. */
async function versionOf(org: TestOrganisation, document: PolicyDocument): Promise<string> {
  const ref = { organisationId: org.organisationId, policyId: org.policyId ?? "" };
  const { version } = await publishPolicyVersion(control, testPrincipal, { ...ref, document, activate: false });
  return version.id;
}

async function addCall(org: TestOrganisation, trafficClass: string, ratioBasisPoints: number): Promise<void> {
  const nowMs = services.clock.nowMs();
  const explanation = { ladder: "monthly-department", ratioBasisPoints };
  await services.db.pool.query(
    `INSERT INTO ledger_entries (reserved_at, request_id, attempt, kind, organisation_id, settled_at, api_key_id, app_id,
       consumer_path, environment, traffic_class, route, model_requested, model_served, decision, outcome, usage, components,
       price_currency, price_amount, currency, amount, lines, explanation)
     VALUES ($1, $2, 0, 'usage', $3, $1, $4, $5, $6, 'production', $7, 'chat/completions', 'sandbox-large', 'sandbox-large',
       'pass', 'ok', '{}', '[]', 'USD', 1, 'USD', 1, '[]', $8)`,
    [
      new Date(nowMs),
      newId("req", nowMs),
      org.organisationId,
      org.apiKey.id,
      org.consumers.app,
      [org.organisationId, org.consumers.app],
      trafficClass,
      explanation,
    ],
  );
}

describe("the history of rollouts", () => {
  it("says what was done, by whom, from which share to which, newest first; a held share does not move", async () => {
    const org = await createTestOrganisation(control, { models: [] });
    const { organisationId } = org;
    const policyId = org.policyId ?? "";
    const wang = principalAt(organisationId, organisationId, "engineer");
    const start = { organisationId, policyId, policyVersionId: await versionOf(org, { outputCapTokens: 9 }) };
    const { rollout } = await startRollout(control, wang, { ...start, percent: 0 });
    const ref = { organisationId, rolloutId: rollout.id };
    await startRollout(control, wang, { ...start, percent: 25 });
    await holdRollout(control, wang, { ...ref, held: true });
    await expect(startRollout(control, wang, { ...start, percent: 50 })).rejects.toMatchObject({ code: "conflict" });
    await holdRollout(control, wang, { ...ref, held: false });
    await abortRollout(control, wang, ref);
    const who = await personAt(organisationId, organisationId, "auditor");
    const { entries } = await readRolloutHistory(services, who, policyId);
    expect(entries.map(({ act, percentBefore, percent }) => [act, percentBefore, percent])).toEqual([
      ["abort", 25, 25],
      ["release", 25, 25],
      ["hold", 25, 25],
      ["move", 0, 25],
      ["start", null, 0],
    ]);
    expect(entries.every(({ actor, versionNumber }) => actor === "Wang Fang" && versionNumber === 2)).toBe(true);
    await expect(readRolloutHistory(services, who, "pol_unknown")).rejects.toMatchObject({ code: "not_found" });
  });

  it("refuses to expose the version in force, and one who may only read", async () => {
    const org = await createTestOrganisation(control, { models: [] });
    const { organisationId } = org;
    const policyId = org.policyId ?? "";
    const active = await services.db.prisma.policy.findUnique({
      where: { id: policyId },
      select: { activeVersionId: true },
    });
    const start = { organisationId, policyId, percent: 5 };
    const again = startRollout(control, testPrincipal, { ...start, policyVersionId: active?.activeVersionId ?? "" });
    await expect(again).rejects.toMatchObject({ code: "conflict" });
    const auditor = principalAt(organisationId, organisationId, "auditor");
    const policyVersionId = await versionOf(org, {});
    await expect(startRollout(control, auditor, { ...start, policyVersionId })).rejects.toMatchObject({
      code: "not_found",
    });
  });
});

describe("a replay", () => {
  const stricter: PolicyDocument = {
    ladders: {
      "monthly-department": {
        ...MONTHLY_DEPARTMENT,
        rungs: MONTHLY_DEPARTMENT.rungs.map((rung) =>
          rung.name === "warn" ? { ...rung, actions: { core: { kind: "pass" }, "*": { kind: "downgrade" } } } : rung,
        ),
      },
    },
    downgrade: { "sandbox-large": "sandbox-small" },
  };

  it("counts the calls that a version treats otherwise, by class and what they would get", async () => {
    const org = await createTestOrganisation(control, {});
    const policyId = org.policyId ?? "";
    for (const [trafficClass, ratio] of [
      ["general", 7_600],
      ["general", 8_000],
      ["general", 7_400],
      ["core", 8_000],
    ] as const)
      await addCall(org, trafficClass, ratio);
    const who = await personAt(org.organisationId, org.organisationId, "lead");
    const seen = await readPolicyReplay(services, who, policyId, await versionOf(org, stricter));
    expect(seen).toMatchObject({ calls: 4, changed: 2, apps: [{ name: "app" }] });
    expect(seen.groups).toEqual([
      {
        ...{ trafficClass: "general", model: "sandbox-large", calls: 2 },
        before: { kind: "pass", model: "sandbox-large" },
        after: { kind: "downgrade", model: "sandbox-small" },
      },
    ]);
  });

  it("looks at no app whose usage the person may not see, and at no version of another policy", async () => {
    const org = await createTestOrganisation(control, {});
    const other = await createTestOrganisation(control, {});
    await addCall(org, "general", 8_000);
    const versionId = await versionOf(org, stricter);
    const outside = await personAt(org.organisationId, "con_elsewhere", "lead");
    const policyId = org.policyId ?? "";
    expect(await readPolicyReplay(services, outside, policyId, versionId)).toMatchObject({ calls: 0, apps: [] });
    const stranger = await personAt(other.organisationId, other.organisationId, "lead");
    const strange = readPolicyReplay(services, stranger, policyId, versionId);
    await expect(strange).rejects.toMatchObject({ code: "not_found" });
  });
});
