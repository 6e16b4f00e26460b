/** What may be spent at a provider: held with the caller's own budgets, never passed, and calls go elsewhere once it is gone. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readAllBooks } from "@/lib/control/books";
import { sweepReservations } from "@/lib/control/sweep";
import { createBudget, freezeBudget, unfreezeBudget, updateBudget } from "@/lib/control/budgets";
import type { Budget } from "@/lib/domain/entities";
import type { PolicyDocument } from "@/lib/domain/policy";
import { policyDocumentSchema } from "@/lib/domain/policy";
import { keysOf } from "@/lib/redis/keys";
import type { TestOrganisation } from "@/lib/testing/factories";
import { testPrincipal } from "@/lib/testing/factories";
import type { GatewayHost } from "@/lib/testing/gateway-contract/host";
import { asking, settled, upstreamCalls } from "@/lib/testing/gateway-contract/host";
import type { RouteModel } from "@/lib/testing/gateway-contract/route-models";
import { addModel, addProvider, billed, publish } from "@/lib/testing/gateway-contract/route-models";
import type { RoutingRig } from "@/lib/testing/routing-rig";
import { BUSY, served, startRoutingRig } from "@/lib/testing/routing-rig";

/** As the sandbox sells it: 150 and 600 nanos a token. */
const MODEL: RouteModel = {
  name: "two-places",
  kind: "chat",
  rates: { inputPerToken: "0.00000015", cacheReadPerToken: "0.000000075", outputPerToken: "0.0000006" },
  upstreamModel: "sandbox-small",
};
const COST = 10n * 150n + 5n * 600n;
const USED = asking({ promptTokens: 10, completionTokens: 5 });
/** Holds of one call are about 25,000 nanos: room for some, not for all. */
const LIMIT = 60_000n;

let rig: RoutingRig;
let host: GatewayHost;
beforeAll(async () => {
  rig = await startRoutingRig();
  ({ host } = rig);
}, 120_000);
afterAll(() => rig.close());

interface Company {
  readonly made: TestOrganisation;
  /** The account that is asked first, and the one after it. */
  readonly first: string;
  readonly second: string;
}

/** A company whose model stands at two accounts, the first of which is asked while it may be. */
async function company(policy: PolicyDocument = {}): Promise<Company> {
  const made = await host.bench.organisation({ policy });
  const second = await addProvider(host, made, "sandbox", `${host.bench.sandbox.url}/v1`);
  const first = made.provider.id;
  await addModel(host, made, MODEL, [{ providerId: first }, { providerId: second }]);
  await publish(host, made);
  return { made, first, second };
}

async function budgetAt(
  made: TestOrganisation,
  owner: { providerId: string } | { deploymentId: string },
  limit = LIMIT,
): Promise<Budget> {
  const { budget } = await createBudget(host.bench.control, testPrincipal, {
    ...{ organisationId: made.organisationId, consumerId: null, apiKeyId: null, ...owner, name: "at the provider" },
    ...{ meter: "cost", periodKind: "day", limitAmount: String(limit), overflowAmount: "0", enforcement: "enforce" },
    ...{ ladder: null, environment: null, models: [], classes: [] },
  });
  return budget;
}

async function firstDeploymentOf(made: TestOrganisation, providerId: string): Promise<string> {
  const row = await host.bench.books.db.prisma.deployment.findFirstOrThrow({
    where: {
      organisationId: made.organisationId,
      providerId,
      upstreamModel: "sandbox-small",
      model: { name: MODEL.name },
    },
  });
  return row.id;
}

const ask = (made: TestOrganisation, more: object = {}) => rig.ask(made, { model: MODEL.name, ...USED, ...more });
const counter = ({ organisationId, id }: Budget) => host.bench.counter(organisationId, id);

async function expectQuietBooks(made: TestOrganisation): Promise<void> {
  await expect.poll(async () => (await settled(host, made)).held).toBe(0n);
  await host.bench.book(made.organisationId);
  const books = await readAllBooks(host.bench.books, made.organisationId);
  expect(books?.mismatches).toEqual([]);
}

describe("a provider with a budget of its own", () => {
  it("drops out when it is spent in the middle of the traffic; calls go on at the next, and all books agree", async () => {
    const { made, first, second } = await company();
    const budget = await budgetAt(made, { providerId: first });
    const answers: Response[] = [];
    for (let round = 0; round < 6; round += 1) {
      answers.push(...(await Promise.all(Array.from({ length: 4 }, () => ask(made)))));
      const { settled: spent, held } = await counter(budget);
      expect(spent + held <= LIMIT).toBe(true);
    }
    expect(answers.map((answer) => answer.status)).toEqual(answers.map(() => 200));
    await expectQuietBooks(made);
    const entries = await rig.booked(made);
    const there = entries.filter((entry) => entry.provider === first);
    expect(there.length).toBeGreaterThan(4);
    expect(entries.filter((entry) => entry.provider === second)).toHaveLength(24 - there.length);
    expect(await counter(budget)).toEqual({ settled: BigInt(there.length) * COST, held: 0n });
    expect(await settled(host, made)).toEqual({ settled: 24n * COST, held: 0n });
    const bills = await Promise.all(answers.map((answer) => billed(host, answer.headers.get("x-request-id") ?? "")));
    expect(bills).toEqual(bills.map(() => COST));
    const moved = entries.filter((entry) => entry.provider === second);
    expect(moved.map(({ explanation }) => explanation["spentTargets"])).toEqual(moved.map(() => [first]));
    // Whose limit it is, and how much of it is left, is in no header.
    expect(entries.some(({ explanation }) => explanation["budgetId"] === budget.id)).toBe(false);
  }, 60_000);

  it("refuses where nothing is left, says that it is not the caller's budget, and serves again once the limit is raised", async () => {
    const { made, first, second } = await company();
    const budget = await budgetAt(made, { providerId: first }, 1n);
    await budgetAt(made, { providerId: second }, 0n);
    const before = await upstreamCalls(host);
    const refused = await ask(made);
    const { error } = (await refused.json()) as { error: { code: string; message: string; budget?: object } };
    expect([refused.status, error.code, error.budget]).toEqual([503, "upstream_error", undefined]);
    expect(error.message).toContain("Your own budget is not the reason");
    expect(error.message).not.toContain("prv_");
    expect(refused.headers.get("x-should-retry")).toBe("false");
    expect(await upstreamCalls(host)).toBe(before);
    expect(await settled(host, made)).toEqual({ settled: 0n, held: 0n });
    const noted = await host.bench.store.redis.xrevrange(keysOf(made.organisationId).refusals, "+", "-", "COUNT", 1);
    expect(JSON.parse(noted[0]?.[1][1] ?? "{}")).toMatchObject({
      code: "provider_budget_exhausted",
      budgetId: null,
      explanation: { spentTargets: [first, second] },
    });
    const ref = { organisationId: made.organisationId, budgetId: budget.id, expectedVersion: "1" };
    await updateBudget(host.bench.control, testPrincipal, { ...ref, limitAmount: String(LIMIT) });
    expect((await ask(made)).status).toBe(200);
  });

  it("gives back what an attempt held that cost nothing, and holds for the one that follows where that one goes", async () => {
    const { made, account } = await rig.company([503, BUSY], {}, { places: [{}] });
    await addModel(host, made, MODEL, [{ providerId: account }, { providerId: made.provider.id }]);
    await publish(host, made);
    const failing = await budgetAt(made, { providerId: account });
    const serving = await budgetAt(made, { providerId: made.provider.id });
    expect((await ask(made)).status).toBe(200);
    await expectQuietBooks(made);
    expect(await counter(failing)).toEqual({ settled: 0n, held: 0n });
    expect(await counter(serving)).toEqual({ settled: COST, held: 0n });
  });

  it("leaves to the next model of the policy's list what no deployment of the asked one may take", async () => {
    const { made, first, second } = await company({
      fallbacks: { [MODEL.name]: ["sandbox-small"], lonely: [MODEL.name] },
    });
    await addModel(host, made, { ...MODEL, name: "lonely" }, [{ providerId: second }]);
    await publish(host, made);
    await budgetAt(made, { providerId: second }, 0n);
    expect(served(await ask(made, { model: "lonely" }))).toEqual([200, MODEL.name, "lonely"]);
    await expectQuietBooks(made);
    expect((await rig.booked(made)).map(({ provider }) => provider)).toEqual([first]);
  });

  it("stands aside while its budget is frozen", async () => {
    const { made, first, second } = await company();
    const budget = await budgetAt(made, { providerId: first });
    const ref = { organisationId: made.organisationId, budgetId: budget.id };
    await freezeBudget(host.bench.control, testPrincipal, ref);
    expect((await ask(made)).status).toBe(200);
    await unfreezeBudget(host.bench.control, testPrincipal, ref);
    expect((await ask(made)).status).toBe(200);
    await expectQuietBooks(made);
    expect((await rig.booked(made)).map(({ provider }) => provider)).toEqual([second, first]);
  });

  it("ends a stream well that it has no more money for, and books what came", async () => {
    const { made, first } = await company(
      policyDocumentSchema.parse({ reserve: { mode: "incremental", sliceTokens: 64, marginTokens: 32 } }),
    );
    const budget = await budgetAt(made, { providerId: first }, 200_000n);
    const answer = await ask(made, {
      ...{ stream: true, max_tokens: 16_000 },
      ...asking({ promptTokens: 10, completionTokens: 3000, chunkDelayMs: 1 }),
    });
    expect(await answer.text()).toContain('"finish_reason":"length"');
    await expectQuietBooks(made);
    const [entry] = await rig.booked(made);
    expect(entry).toMatchObject({ provider: first, outcome: "shortened" });
    expect(entry?.explanation["shortenedBy"]).toBe("provider_budget_exhausted");
    const { settled: spent, held } = await counter(budget);
    expect([spent > 0n && spent <= 200_000n, held]).toEqual([true, 0n]);
  });
});

describe("a deployment with a budget of its own", () => {
  it("drops out alone: other deployments of the same account serve on", async () => {
    const { made, first } = await company();
    const deploymentId = await firstDeploymentOf(made, first);
    const budget = await budgetAt(made, { deploymentId }, 0n);
    const answers = [await ask(made), await rig.ask(made, { model: "sandbox-small", ...USED })];
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    await expectQuietBooks(made);
    expect((await rig.booked(made)).map(({ provider }) => provider === first)).toEqual([false, true]);
    expect(await counter(budget)).toEqual({ settled: 0n, held: 0n });
  });
});

describe("where the gateway dies in mid-call", () => {
  it("what it held at the provider is charged there once, however late the end comes after all", async () => {
    const { made, first } = await company();
    const budget = await budgetAt(made, { providerId: first });
    const asked = ask(made, asking({ promptTokens: 10, completionTokens: 5, latencyMs: 1500 }));
    await expect.poll(async () => (await counter(budget)).held > 0n).toBe(true);
    // As the sweeper of a day in which nobody renewed the hold.
    const far = Date.now() + 86_400_000;
    await expect.poll(() => sweepReservations(host.bench.books, made.organisationId, { nowMs: far })).toBe(1);
    expect((await counter(budget)).settled > 0n).toBe(true);
    expect((await asked).status).toBe(200);
    await expectQuietBooks(made);
    expect(await counter(budget)).toEqual({ settled: COST, held: 0n });
    expect(await settled(host, made)).toEqual({ settled: COST, held: 0n });
  });
});
