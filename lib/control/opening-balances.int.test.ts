import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { insertLedgerBatch } from "@/lib/db/ledger-entries";
import { withSqlTransaction } from "@/lib/db/pool";
import { findOrganisation, notePublished } from "@/lib/db/organisations";
import { calendarOf } from "@/lib/domain/entities";
import { periodAt } from "@/lib/domain/period";
import { keysOf } from "@/lib/redis/keys";
import { createTestControl, createTestOrganisation, testPrincipal } from "@/lib/testing/factories";
import type { TestOrganisation } from "@/lib/testing/factories";
import { testDatabaseUrl, testRedisUrl } from "@/lib/testing/services";
import { usageEventOf } from "@/lib/testing/usage-events";
import { createBudget, updateBudget } from "./budgets";
import { drainChanges, publishAll } from "./snapshots";

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

describe("a budget that opens in mid-period", () => {
  const spend = async (org: TestOrganisation, amount: bigint, model: string): Promise<void> => {
    const event = usageEventOf(
      { organisationId: org.organisationId, budgetId: organisationBudget(org).id, amount },
      { modelServed: model, consumerPath: Object.values(org.consumers), appId: org.consumers.app },
    );
    const batch = JSON.stringify([{ k: "settled", e: event }]);
    await withSqlTransaction(deps.db.pool, (client) => insertLedgerBatch(client, org.organisationId, batch));
  };
  const counterOf = async (org: TestOrganisation, budgetId: string, kind: "month" | "year" = "month") => {
    const organisation = await findOrganisation(deps.db.prisma, org.organisationId);
    if (organisation === null) throw new Error("gone");
    const period = periodAt(kind, Date.now(), calendarOf(organisation));
    return deps.redis.hget(keysOf(org.organisationId).counter(budgetId, period.id), "s");
  };

  test("starts with what the ledger holds for its filters, added once however often it is pushed", async () => {
    const org = await createTestOrganisation(deps);
    await spend(org, 700n, "sandbox-large");
    await spend(org, 11n, "sandbox-small");
    const { budget } = await createBudget(deps, testPrincipal, {
      organisationId: org.organisationId,
      consumerId: org.consumers.department,
      apiKeyId: null,
      name: "large models",
      meter: "cost",
      periodKind: "month",
      limitAmount: "1000",
      overflowAmount: "0",
      enforcement: "enforce",
      ladder: null,
      environment: null,
      models: ["*-large"],
      classes: [],
    });
    expect(budget.openingAmount).toBe(700n);
    expect(await counterOf(org, budget.id)).toBe("700");
    await publishAll(deps, org.organisationId, { force: true });
    await publishAll(deps, org.organisationId, { force: true });
    expect(await counterOf(org, budget.id)).toBe("700");

    // Wider, then narrower filters: the counter follows, both ways.
    const ref = { organisationId: org.organisationId, budgetId: budget.id };
    const wider = await updateBudget(deps, testPrincipal, { ...ref, expectedVersion: "1", models: [] });
    expect(await counterOf(org, budget.id)).toBe("711");
    const version = wider.budget.limitVersion.toString();
    await updateBudget(deps, testPrincipal, { ...ref, expectedVersion: version, models: ["sandbox-small"] });
    expect(await counterOf(org, budget.id)).toBe("11");
  });

  test("is taken back from the counter of a kind of period that the budget counts by no more", async () => {
    const org = await createTestOrganisation(deps);
    await spend(org, 700n, "sandbox-large");
    const { organisationId } = org;
    const { budget } = await createBudget(deps, testPrincipal, {
      organisationId,
      consumerId: org.consumers.department,
      apiKeyId: null,
      name: "department",
      meter: "cost",
      periodKind: "month",
      limitAmount: "1000",
      overflowAmount: "0",
      enforcement: "enforce",
      ladder: null,
      environment: null,
      models: [],
      classes: [],
    });
    const update = async (expectedVersion: string, periodKind: "month" | "year"): Promise<string> => {
      const input = { organisationId, budgetId: budget.id, expectedVersion, periodKind };
      return (await updateBudget(deps, testPrincipal, input)).budget.limitVersion.toString();
    };
    const version = await update("1", "year");
    expect(await counterOf(org, budget.id)).toBe("0");
    expect(await counterOf(org, budget.id, "year")).toBe("700");
    await update(version, "month");
    expect(await counterOf(org, budget.id)).toBe("700");
    expect(await counterOf(org, budget.id, "year")).toBe("0");
  });

  test("a crash between the push and the note repeats the push without doubling the opening", async () => {
    const org = await createTestOrganisation(deps);
    await spend(org, 900n, "sandbox-large");
    const { budget } = await createBudget(deps, testPrincipal, {
      organisationId: org.organisationId,
      consumerId: org.consumers.app,
      apiKeyId: null,
      name: "app",
      meter: "requests",
      periodKind: "month",
      limitAmount: "10",
      overflowAmount: "0",
      enforcement: "enforce",
      ladder: null,
      environment: null,
      models: [],
      classes: [],
    });
    expect(await counterOf(org, budget.id)).toBe("1");
    // As if the note had never been written: the outbox still names the budget, and Redis lost its epoch.
    await deps.db.prisma.snapshotChange.create({
      data: { organisationId: org.organisationId, entity: "budget", entityId: budget.id },
    });
    await deps.redis.del(keysOf(org.organisationId).epoch);
    await drainChanges(deps);
    expect(await counterOf(org, budget.id)).toBe("1");
    await notePublished(deps.db.prisma, org.organisationId, 1n, []);
  });
});
