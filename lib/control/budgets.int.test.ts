import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { listAuditEntries } from "@/lib/db/audit-log";
import { findBudget, listOpenGrants } from "@/lib/db/budgets";
import { frozenClock } from "@/lib/domain/clock";
import { AppError } from "@/lib/domain/fault";
import { newId } from "@/lib/domain/ids";
import type { Principal, Role } from "@/lib/domain/role";
import { createTestControl, createTestOrganisation, testPrincipal } from "@/lib/testing/factories";
import type { TestControl, TestOrganisation } from "@/lib/testing/factories";
import { testDatabaseUrl, testRedisUrl } from "@/lib/testing/services";
import { createApiKey } from "./api-keys";
import { archiveBudget, createBudget, freezeBudget, updateBudget } from "./budgets";
import { grantBudget } from "./grants";
import { withIdempotencyKey } from "./idempotency";
import { publishAll } from "./snapshots";
import { undoChange } from "./undo";

let deps: TestControl;
/** For tests that leave it as it is. */
let shared: TestOrganisation;
beforeAll(async () => {
  deps = createTestControl(await testDatabaseUrl(), testRedisUrl());
  shared = await createTestOrganisation(deps);
});
afterAll(async () => {
  await deps.close();
});

const person = (org: TestOrganisation, role: Role, consumerId: string): Principal => ({
  userId: newId("usr", Date.now()),
  label: role,
  memberships: [{ organisationId: org.organisationId, consumerId, role }],
});
const budgetAt = (org: TestOrganisation, level: "organisation" | "department" = "organisation") => {
  const budget = org.budgets[level];
  if (budget === undefined) throw new Error(`no budget at the ${level}`);
  return { organisationId: org.organisationId, budgetId: budget.id };
};
const draft = (org: TestOrganisation, consumerId: string) => ({
  organisationId: org.organisationId,
  consumerId,
  apiKeyId: null,
  name: "a budget",
  meter: "cost" as const,
  periodKind: "month" as const,
  limitAmount: "1000",
  overflowAmount: "0",
  enforcement: "enforce" as const,
  ladder: null,
  environment: null,
  models: [],
  classes: [],
});
const codeOf = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "done",
    (error: unknown) => (error instanceof AppError ? error.code : String(error)),
  );

describe("amounts", () => {
  test.each([
    Number.NaN,
    Number.POSITIVE_INFINITY,
    100,
    "-1",
    "NaN",
    "Infinity",
    "1e309",
    "10 ",
    "0x10",
    "1.5",
    "01",
    "",
    "9223372036854775808",
    null,
  ])("%j is refused with the field named, and nothing is written", async (limitAmount) => {
    const org = shared;
    const input = { ...draft(org, org.organisationId), limitAmount: limitAmount as string };
    const before = await deps.db.prisma.budget.count({ where: { organisationId: org.organisationId } });
    await expect(createBudget(deps, testPrincipal, input)).rejects.toMatchObject({
      code: "invalid_request",
      fields: { limitAmount: expect.any(String) },
    });
    expect(await deps.db.prisma.budget.count({ where: { organisationId: org.organisationId } })).toBe(before);
  });

  test("limit and overflow together must fit what the counters hold", async () => {
    const org = shared;
    const input = { ...draft(org, org.organisationId), limitAmount: "9223372036854775807", overflowAmount: "1" };
    expect(await codeOf(createBudget(deps, testPrincipal, input))).toBe("invalid_request");
  });
});

describe("a budget of each end user", () => {
  test("opens with nothing, cannot be changed into one of all, and takes no top-up that would reach nobody", async () => {
    const { organisationId } = shared;
    const { budget } = await createBudget(deps, testPrincipal, { ...draft(shared, organisationId), perEndUser: true });
    expect(budget).toMatchObject({ perEndUser: true, openingAmount: 0n });
    const change = { organisationId, budgetId: budget.id, expectedVersion: "1", perEndUser: false };
    expect(await codeOf(updateBudget(deps, testPrincipal, change))).toBe("invalid_request");
    const topUp = { organisationId, budgetId: budget.id, amount: "5", reason: "more", endsAtMs: null };
    expect(await codeOf(grantBudget(deps, testPrincipal, topUp))).toBe("conflict");
    expect((await createBudget(deps, testPrincipal, draft(shared, organisationId))).budget.perEndUser).toBe(false);
  });
});

describe("who may", () => {
  test("a lead changes budgets at the own department and below; everything else looks as if it did not exist", async () => {
    const org = await createTestOrganisation(deps, { budgets: { organisation: 10_000n, department: 5_000n } });
    const lead = person(org, "lead", org.consumers.department);
    const change = { expectedVersion: "1", limitAmount: "6000" };
    expect((await updateBudget(deps, lead, { ...budgetAt(org, "department"), ...change })).budget.limitAmount).toBe(
      6000n,
    );
    expect(await codeOf(createBudget(deps, lead, draft(org, org.consumers.app)))).toBe("done");
    expect(await codeOf(updateBudget(deps, lead, { ...budgetAt(org), ...change }))).toBe("not_found");
    const missing = { organisationId: org.organisationId, budgetId: "bud_none" };
    expect(await codeOf(updateBudget(deps, lead, { ...missing, ...change }))).toBe("not_found");
  });

  test("a stranger, and an owner of another company, find nothing", async () => {
    const [org, other] = [await createTestOrganisation(deps), shared];
    const owner = person(other, "owner", other.organisationId);
    const change = { ...budgetAt(org), expectedVersion: "1", limitAmount: "1" };
    expect(await codeOf(updateBudget(deps, owner, change))).toBe("not_found");
    // Naming the own organisation beside a foreign budget is no way in.
    expect(await codeOf(updateBudget(deps, owner, { ...change, organisationId: other.organisationId }))).toBe(
      "not_found",
    );
  });

  test("a developer makes keys, but none of class core", async () => {
    const org = shared;
    const developer = person(org, "developer", org.consumers.team);
    const input = {
      organisationId: org.organisationId,
      appId: org.consumers.app,
      name: "mine",
      environment: "test" as const,
      trafficClass: "general",
      entitledClasses: [],
      expiresAtMs: null,
      allowedIps: [],
    };
    expect((await createApiKey(deps, developer, input)).secret).toMatch(/^sw_test_/u);
    expect(await codeOf(createApiKey(deps, developer, { ...input, trafficClass: "core" }))).toBe("invalid_request");
    expect(await codeOf(createApiKey(deps, developer, { ...input, entitledClasses: ["core"] }))).toBe(
      "invalid_request",
    );
    expect(await codeOf(createApiKey(deps, developer, { ...input, isVip: true }))).toBe("invalid_request");
  });
});

describe("changes", () => {
  test("of two editors who saw the same version one wins and the other is told", async () => {
    const org = await createTestOrganisation(deps);
    const edit = (limitAmount: string) =>
      codeOf(updateBudget(deps, testPrincipal, { ...budgetAt(org), expectedVersion: "1", limitAmount }));
    expect((await Promise.all([edit("1"), edit("2")])).sort()).toEqual(["conflict", "done"]);
  });

  test("write author, before and after into the audit log, and can be undone until something follows", async () => {
    const org = await createTestOrganisation(deps);
    const first = await updateBudget(deps, testPrincipal, {
      ...budgetAt(org),
      expectedVersion: "1",
      limitAmount: "42",
    });
    const filter = { objectType: "budget", objectId: budgetAt(org).budgetId, take: 10 };
    const [entry] = await listAuditEntries(deps.db.prisma, org.organisationId, filter);
    expect(entry).toMatchObject({
      id: first.auditId,
      actorLabel: "test",
      action: "budget.update",
      before: { limitAmount: "100000000000" },
      after: { limitAmount: "42", limitVersion: "2" },
    });
    const undo = { organisationId: org.organisationId, auditId: first.auditId };
    expect((await undoChange(deps, testPrincipal, undo)).budget.limitAmount).toBe(100_000_000_000n);
    expect(await codeOf(undoChange(deps, testPrincipal, undo))).toBe("conflict");
    const developer = person(org, "developer", org.organisationId);
    expect(await codeOf(undoChange(deps, developer, undo))).toBe("not_found");
  });

  test("a budget put away comes back by undo, frozen state and all", async () => {
    const org = await createTestOrganisation(deps);
    await freezeBudget(deps, testPrincipal, budgetAt(org));
    const { auditId } = await archiveBudget(deps, testPrincipal, budgetAt(org));
    const change = { ...budgetAt(org), expectedVersion: "3", limitAmount: "1" };
    expect(await codeOf(updateBudget(deps, testPrincipal, change))).toBe("conflict");
    const { budget } = await undoChange(deps, testPrincipal, { organisationId: org.organisationId, auditId });
    expect(budget.archivedAt).toBeNull();
    expect(budget.frozenAt).not.toBeNull();
  });

  test("children that are promised more than their parent has are allowed and reported", async () => {
    const org = await createTestOrganisation(deps, { budgets: { organisation: 1_000n } });
    const made = await createBudget(deps, testPrincipal, draft(org, org.consumers.department));
    expect(made.overAllocations).toEqual([]);
    const raised = await updateBudget(deps, testPrincipal, {
      organisationId: org.organisationId,
      budgetId: made.budget.id,
      expectedVersion: "1",
      limitAmount: "1001",
    });
    expect(raised.overAllocations).toMatchObject([{ consumerId: org.organisationId, childrenAmount: 1001n }]);
  });

  test("a grant holds to the end of its own period and not a moment longer", async () => {
    const clock = frozenClock(Date.UTC(2026, 2, 31, 23, 59));
    const frozen = { ...deps, clock };
    const org = await createTestOrganisation(frozen, { timeZone: "UTC" });
    const { grant } = await grantBudget(frozen, testPrincipal, {
      ...budgetAt(org),
      amount: "5",
      reason: "quarter end",
      endsAtMs: Date.UTC(2027, 0, 1),
    });
    expect(grant).toMatchObject({ periodId: "M2026-03", endsAt: new Date(Date.UTC(2026, 3, 1)) });
    clock.advance(60_000);
    await publishAll(frozen, org.organisationId, { force: true });
    expect(await listOpenGrants(deps.db.prisma, [budgetAt(org).budgetId], new Date(clock.nowMs()))).toEqual([]);
  });
});

describe("Idempotency-Key", () => {
  const grant = (control: TestControl, org: TestOrganisation, key: string, amount: string) =>
    grantBudget({ ...control, ...withIdempotencyKey(control, key, { path: "grants", amount }) }, testPrincipal, {
      ...budgetAt(org),
      amount,
      reason: "top up once",
      endsAtMs: null,
    });
  const granted = async (org: TestOrganisation) =>
    (await listOpenGrants(deps.db.prisma, [budgetAt(org).budgetId], new Date())).length;

  test("a retried top-up is answered again, not granted again, also when ten arrive at once", async () => {
    const org = await createTestOrganisation(deps);
    const answers = await Promise.all(Array.from({ length: 10 }, () => grant(deps, org, "retry-1", "5")));
    expect(new Set(answers.map((answer) => answer.grant.id)).size).toBe(1);
    expect(await granted(org)).toBe(1);
  });

  test("the same key with another body is a conflict", async () => {
    const org = await createTestOrganisation(deps);
    await grant(deps, org, "retry-2", "5");
    expect(await codeOf(grant(deps, org, "retry-2", "6"))).toBe("conflict");
    expect(await granted(org)).toBe(1);
  });

  test("a refused write keeps no answer: the corrected request under the same key goes through", async () => {
    const org = await createTestOrganisation(deps);
    expect(await codeOf(grant(deps, org, "retry-3", "0"))).toBe("invalid_request");
    expect(await codeOf(grant(deps, org, "retry-3", "7"))).toBe("done");
  });

  test("a replayed key creation shows the same secret, which the database holds only sealed", async () => {
    const org = await createTestOrganisation(deps);
    const make = () =>
      createApiKey(withIdempotencyKey(deps, "make-key", { appId: org.consumers.app }), testPrincipal, {
        organisationId: org.organisationId,
        appId: org.consumers.app,
        name: "once",
        environment: "production",
        trafficClass: "general",
        entitledClasses: [],
        expiresAtMs: null,
        allowedIps: [],
      });
    const [first, again] = [await make(), await make()];
    expect(again.secret).toBe(first.secret);
    const stored = await deps.db.prisma.idempotencyRecord.findMany({ where: { organisationId: org.organisationId } });
    const audit = await deps.db.prisma.auditLog.findMany({ where: { organisationId: org.organisationId } });
    expect(JSON.stringify([stored, audit])).not.toContain(first.secret.slice(-20));
  });
});

test("an unknown budget id never reveals another organisation's budget", async () => {
  const [org, other] = [await createTestOrganisation(deps), shared];
  expect(await findBudget(deps.db.prisma, other.organisationId, budgetAt(org).budgetId)).toBeNull();
});

describe("a budget of a provider or a deployment", () => {
  const plain = (org: TestOrganisation) => ({
    ...draft(org, org.organisationId),
    ...{ consumerId: null, ladder: null, overflowAmount: "0" },
  });

  test("is set by finance, is no matter of a department's lead, and names something that exists", async () => {
    const org = await createTestOrganisation(deps);
    const { organisationId } = org;
    const ofProvider = { ...plain(org), providerId: org.provider.id };
    const deploymentId = org.models["sandbox-large"]?.deploymentId ?? "";
    const finance = person(org, "finance", organisationId);
    expect((await createBudget(deps, finance, ofProvider)).budget.providerId).toBe(org.provider.id);
    expect((await createBudget(deps, finance, { ...plain(org), deploymentId })).budget.deploymentId).toBe(deploymentId);
    const lead = person(org, "lead", org.consumers.department);
    expect(await codeOf(createBudget(deps, lead, ofProvider))).toBe("not_found");
    expect(await codeOf(createBudget(deps, finance, { ...plain(org), providerId: shared.provider.id }))).toBe(
      "not_found",
    );
  });

  test("is a limit and nothing else: no ladder, no overflow, not of each end user, of one owner", async () => {
    const org = await createTestOrganisation(deps);
    const ofProvider = { ...plain(org), providerId: org.provider.id };
    for (const more of [
      { ladder: "monthly-department" },
      { overflowAmount: "1" },
      { perEndUser: true },
      { consumerId: org.organisationId },
      { deploymentId: "dep_1" },
    ]) {
      expect(await codeOf(createBudget(deps, testPrincipal, { ...ofProvider, ...more }))).toBe("invalid_request");
    }
    const { budget } = await createBudget(deps, testPrincipal, ofProvider);
    const ref = { organisationId: org.organisationId, budgetId: budget.id, expectedVersion: "1" };
    expect(await codeOf(updateBudget(deps, testPrincipal, { ...ref, overflowAmount: "1" }))).toBe("invalid_request");
    const raised = await updateBudget(deps, testPrincipal, { ...ref, limitAmount: "7", periodKind: "day" });
    expect(raised.budget).toMatchObject({ limitAmount: 7n, periodKind: "day" });
  });
});
