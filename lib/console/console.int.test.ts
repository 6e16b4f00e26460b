/** The console's reads on a real Postgres and Redis: sums, visibility, and what stands in when Redis is away. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createBudget } from "@/lib/control/budgets";
import { listOrganisations } from "@/lib/db/console-consumers";
import { sumUsage, sumUsageBySpans } from "@/lib/db/console-usage";
import { frozenClock } from "@/lib/domain/clock";
import { nextPeriod, periodAt } from "@/lib/domain/period";
import type { Role } from "@/lib/domain/role";
import { createTestControl, createTestOrganisation, testPrincipal } from "@/lib/testing/factories";
import type { TestControl, TestOrganisation } from "@/lib/testing/factories";
import { testDatabaseUrl, testRedisUrl } from "@/lib/testing/services";
import { createConsoleServices } from "@/lib/wiring/console";
import type { ConsoleServices } from "@/lib/wiring/console";
import { readBudgetHistory, readBudgetTree } from "./budgets";
import { readApiKeys } from "./keys";
import { readOverview } from "./overview";
import type { ConsolePrincipal } from "./principal";

const QUARTER_HOUR_MS = 900_000;
let control: TestControl;
let databaseUrl: string;
let services: ConsoleServices;

beforeAll(async () => {
  databaseUrl = await testDatabaseUrl();
  control = createTestControl(databaseUrl, testRedisUrl());
  services = createConsoleServices(databaseUrl, testRedisUrl(), { logLevel: "silent" });
});
afterAll(async () => {
  await services.close();
  await control.close();
});

async function personAt(organisationId: string, consumerId: string, role: Role): Promise<ConsolePrincipal> {
  const [organisation] = await listOrganisations(services.db.pool, [organisationId]);
  if (organisation === undefined) throw new Error("the organisation was just made");
  return {
    principal: { userId: "usr_test", label: "Test", memberships: [{ organisationId, consumerId, role }] },
    organisation,
    user: { id: "usr_test", name: "Test", email: "test@example.com" },
  };
}

async function addRollup(
  org: TestOrganisation,
  atMs: number,
  amount: bigint,
  appId = org.consumers.app,
): Promise<void> {
  await services.db.pool.query(
    `INSERT INTO usage_rollups (organisation_id, bucket_start, app_id, api_key_id, model_served, provider_id, environment,
       traffic_class, price_currency, requests, amount)
     VALUES ($1, $2, $3, $4, 'sandbox-small', 'prv', 'production', 'general', 'USD', 1, $5)`,
    [org.organisationId, new Date(atMs - (atMs % QUARTER_HOUR_MS)), appId, org.apiKey.id, amount],
  );
}

describe("sums", () => {
  it.each(["Asia/Shanghai", "Asia/Kathmandu", "America/New_York"])(
    "of single days are the sum of the month, to the nano, in %s",
    async (timeZone) => {
      const org = await createTestOrganisation(control, { timeZone });
      const calendar = { timeZone, fiscalYearStartMonth: 1, weekStartsOn: 1 as const };
      // March and November: New York's days of 23 and 25 hours are in them.
      for (const monthMs of [Date.UTC(2026, 2, 15), Date.UTC(2026, 10, 15)]) {
        const month = periodAt("month", monthMs, calendar);
        for (let step = 0; step < 200; step += 1) {
          const atMs = month.startMs - 2 * 86_400_000 + step * 4 * 3_600_000 + (step % 4) * QUARTER_HOUR_MS;
          await addRollup(org, atMs, 1_000_000_007n + BigInt(step));
        }
        const days = [periodAt("day", month.startMs, calendar)];
        for (let day = days[0]; day !== undefined && day.endMs < month.endMs;) {
          day = nextPeriod(day, calendar);
          days.push(day);
        }
        const scope = { organisationId: org.organisationId, appIds: null };
        const byDay = await sumUsageBySpans(services.db.pool, scope, days);
        const whole = await sumUsage(services.db.pool, { ...scope, startMs: month.startMs, endMs: month.endMs });
        expect(days.at(-1)?.endMs).toBe(month.endMs);
        expect(byDay.reduce((sum, one) => sum + one, 0n)).toBe(whole.amount);
        expect(whole.amount).toBeGreaterThan(0n);
      }
    },
  );
});

describe("overview", () => {
  it("shows a lead only the own part of the tree", async () => {
    const org = await createTestOrganisation(control, { budgets: { organisation: 10n ** 12n, team: 10n ** 11n } });
    const nowMs = services.clock.nowMs();
    await addRollup(org, nowMs, 5_000_000_000n);
    await addRollup(org, nowMs, 7_000_000_000n, "con_elsewhere");
    const all = await readOverview(services, await personAt(org.organisationId, org.consumers.root, "finance"));
    const own = await readOverview(services, await personAt(org.organisationId, org.consumers.team, "lead"));
    expect(all.month.totals.amount).toBe("12000000000");
    expect(all.budgets).toHaveLength(2);
    expect(own.month.totals.amount).toBe("5000000000");
    expect(own.budgets.map((budget) => budget.consumerName)).toEqual(["team"]);
    expect(own.month.limitAmount).toBe("100000000000");
  });

  it("counts what is held apart from what is spent, and knows the rung of both together", async () => {
    const org = await createTestOrganisation(control, { budget: { ladder: "monthly-department" } });
    const budget = org.budgets.organisation;
    if (budget === undefined) throw new Error("the organisation has a budget");
    const who = await personAt(org.organisationId, org.consumers.root, "finance");
    const period = periodAt("month", services.clock.nowMs(), who.organisation);
    const key = `sw:{${org.organisationId}}:c:${budget.id}:${period.id}`;
    await control.store.redis.hset(key, { s: "80000000000", h: "11000000000" });
    const [view] = (await readOverview(services, who)).budgets;
    expect(view).toMatchObject({ spentAmount: "80000000000", heldAmount: "11000000000", usedBasisPoints: 9100 });
    expect(view?.rung?.name).toBe("downgrade");
  });

  it("falls back to the ledger and says so when Redis is away", async () => {
    const org = await createTestOrganisation(control, {});
    const budget = org.budgets.organisation;
    if (budget === undefined) throw new Error("the organisation has a budget");
    const away = createConsoleServices(databaseUrl, "redis://127.0.0.1:1", { logLevel: "silent" });
    const who = await personAt(org.organisationId, org.consumers.root, "finance");
    const period = periodAt("month", services.clock.nowMs(), who.organisation);
    await services.db.pool.query(
      `INSERT INTO budget_rollups (organisation_id, budget_id, period_id, meter, amount) VALUES ($1, $2, $3, 'cost', 42)`,
      [org.organisationId, budget.id, period.id],
    );
    const view = await readOverview(away, who);
    expect(view.live).toBe(false);
    expect(view.month.heldAmount).toBeNull();
    expect(view.budgets[0]).toMatchObject({ spentAmount: "42", source: "booked" });
    await away.close();
  });

  it("opens a new day at the organisation's midnight", async () => {
    const org = await createTestOrganisation(control, { timeZone: "Asia/Shanghai" });
    const midnight = Date.UTC(2026, 10, 9, 16);
    await addRollup(org, midnight - QUARTER_HOUR_MS, 1n);
    await addRollup(org, midnight, 10n);
    const who = await personAt(org.organisationId, org.consumers.root, "finance");
    const at = (nowMs: number) => readOverview({ ...services, clock: frozenClock(nowMs) }, who);
    expect((await at(midnight - 1)).today.totals.amount).toBe("1");
    expect((await at(midnight)).today.totals.amount).toBe("10");
  });
});

describe("freshness", () => {
  it("names what waits in the usage stream and for how long the oldest has", async () => {
    const org = await createTestOrganisation(control, {});
    const who = await personAt(org.organisationId, org.consumers.root, "finance");
    expect((await readOverview(services, who)).backlog).toEqual({ waiting: 0, oldestAgeMs: null });
    const { redis } = control.store;
    const [seconds] = await redis.time();
    const stream = `sw:{${org.organisationId}}:usage`;
    await redis.xadd(stream, `${String((Number(seconds) - 60) * 1_000)}-0`, "k", "settled", "e", "{}");
    await redis.xadd(stream, "*", "k", "settled", "e", "{}");
    const { backlog } = await readOverview(services, who);
    expect(backlog?.waiting).toBe(2);
    expect(backlog?.oldestAgeMs).toBeGreaterThanOrEqual(60_000);
    expect(backlog?.oldestAgeMs).toBeLessThan(120_000);
  });
});

describe("budget tree", () => {
  it("states over-allocation and what the person may do", async () => {
    const org = await createTestOrganisation(control, { budgets: { department: 10n, team: 25n } });
    const tree = await readBudgetTree(services, await personAt(org.organisationId, org.consumers.root, "finance"));
    const department = tree.nodes.find((node) => node.id === org.consumers.department);
    expect(department?.allocation).toEqual({ limitAmount: "10", childrenAmount: "25" });
    expect(department?.canWrite).toBe(true);
    const seen = await readBudgetTree(services, await personAt(org.organisationId, org.consumers.team, "auditor"));
    expect(seen.nodes.map((node) => [node.id, node.depth, node.canWrite])).toEqual([
      [org.consumers.team, 0, false],
      [org.consumers.app, 1, false],
    ]);
  });

  it("keeps the history of a budget from those who may not see it", async () => {
    const org = await createTestOrganisation(control, {});
    const id = org.budgets.organisation?.id ?? "";
    const history = await readBudgetHistory(
      services,
      await personAt(org.organisationId, org.consumers.root, "lead"),
      id,
    );
    expect(history.entries.map((entry) => entry.action)).toEqual(["budget.create"]);
    const stranger = await personAt(org.organisationId, org.consumers.team, "lead");
    await expect(readBudgetHistory(services, stranger, id)).rejects.toMatchObject({ code: "not_found" });
  });
});

describe("keys", () => {
  it("are found by the last four characters and never carry a secret", async () => {
    const org = await createTestOrganisation(control, { budgets: { organisation: 50n, team: 20n } });
    const who = await personAt(org.organisationId, org.consumers.root, "developer");
    const list = await readApiKeys(services, who, { q: org.apiKey.secret.slice(-4), state: "all" });
    expect(list.keys.map((key) => key.id)).toEqual([org.apiKey.id]);
    expect(JSON.stringify(list)).not.toContain(org.apiKey.secret);
    expect(list.keys[0]?.effective).toMatchObject({ scope: "team", leftAmount: "20" });
    expect((await readApiKeys(services, who, { q: "%", state: "all" })).total).toBe(0);
  });
});

describe("a budget of each end user", () => {
  it("stands where the one who used most stands, and says how many there are", async () => {
    const org = await createTestOrganisation(control, {});
    const { budget } = await createBudget(control, testPrincipal, {
      ...{ organisationId: org.organisationId, consumerId: org.consumers.app, apiKeyId: null, name: "Each user" },
      ...{ meter: "cost", periodKind: "month", limitAmount: "1000", overflowAmount: "0", enforcement: "enforce" },
      ...{ ladder: null, environment: null, models: [], classes: [], perEndUser: true },
    });
    const who = await personAt(org.organisationId, org.consumers.root, "finance");
    const viewOf = async () =>
      (await readBudgetTree(services, who)).nodes.flatMap((node) => node.budgets).find((one) => one.id === budget.id);
    expect(await viewOf()).toMatchObject({ spentAmount: "0", endUsers: { count: 0, top: [] } });
    const month = (await viewOf())?.period.id ?? "";
    const spent = [300, 900, 50, 40, 30, 20].map((amount, index) => [`${month}.eu_${String(index)}`, amount] as const);
    for (const [periodId, amount] of [...spent, [`${month}.eu_unnamed`, 100], ["M1999-01.eu_9", 999]] as const) {
      await services.db.pool.query(
        `INSERT INTO budget_rollups (organisation_id, budget_id, period_id, meter, amount) VALUES ($1, $2, $3, 'cost', $4)`,
        [org.organisationId, budget.id, periodId, amount],
      );
    }
    const view = await viewOf();
    expect(view).toMatchObject({ spentAmount: "900", heldAmount: "0", usedBasisPoints: 9000, source: "live" });
    expect(view?.endUsers?.count).toBe(7);
    expect(view?.endUsers?.top.map(({ id, spentAmount }) => [id, spentAmount])).toEqual([
      ["eu_1", "900"],
      ["eu_0", "300"],
      [null, "100"],
      ["eu_2", "50"],
      ["eu_3", "40"],
    ]);
  });
});

describe("keys, page by page", () => {
  it("neither repeat nor skip", async () => {
    const org = await createTestOrganisation(control, {});
    const rows = Array.from(
      { length: 70 },
      (_, index) => `key_p${String(index).padStart(3, "0")}${org.organisationId}`,
    );
    await services.db.pool.query(
      `INSERT INTO api_keys (id, organisation_id, app_id, name, environment, updated_at)
       SELECT id, $1, $2, id, 'production', now() FROM unnest($3::text[]) AS k(id)`,
      [org.organisationId, org.consumers.app, rows],
    );
    const who = await personAt(org.organisationId, org.consumers.root, "developer");
    const first = await readApiKeys(services, who, { q: "", state: "all" });
    expect(first.keys).toHaveLength(50);
    const second = await readApiKeys(services, who, { q: "", state: "all", after: first.next ?? "" });
    expect(second.next).toBeNull();
    const seen = [...first.keys, ...second.keys].map((key) => key.id);
    expect([...seen].sort()).toEqual([...rows, org.apiKey.id].sort());
  });
});
