/** Every attempt at a provider is a fact of the ledger, those that failed and cost nothing too; a served call is one and no more. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readAllBooks } from "@/lib/control/books";
import { createBudget } from "@/lib/control/budgets";
import type { Budget } from "@/lib/domain/entities";
import { keysOf } from "@/lib/redis/keys";
import type { TestOrganisation } from "@/lib/testing/factories";
import { testPrincipal } from "@/lib/testing/factories";
import type { GatewayHost } from "@/lib/testing/gateway-contract/host";
import { settled } from "@/lib/testing/gateway-contract/host";
import { addModel, publish } from "@/lib/testing/gateway-contract/route-models";
import type { RoutingRig } from "@/lib/testing/routing-rig";
import { BROKE, BUSY, PRIMARY, served, startRoutingRig } from "@/lib/testing/routing-rig";

let rig: RoutingRig;
let host: GatewayHost;
beforeAll(async () => {
  rig = await startRoutingRig();
  ({ host } = rig);
}, 120_000);
afterAll(() => rig.close());

async function requestQuota(made: TestOrganisation): Promise<Budget> {
  const { budget } = await createBudget(host.bench.control, testPrincipal, {
    ...{ organisationId: made.organisationId, consumerId: made.consumers.app, apiKeyId: null, name: "requests" },
    ...{ meter: "requests", periodKind: "month", limitAmount: "5", overflowAmount: "0", enforcement: "enforce" },
    ...{ ladder: null, environment: null, models: [], classes: [] },
  });
  return budget;
}

const streamLength = async ({ organisationId }: TestOrganisation) =>
  host.bench.store.redis.xlen(keysOf(organisationId).usage);

async function expectQuietBooks(made: TestOrganisation): Promise<void> {
  await expect.poll(async () => (await settled(host, made)).held).toBe(0n);
  await host.bench.book(made.organisationId);
  expect((await readAllBooks(host.bench.books, made.organisationId))?.mismatches).toEqual([]);
}

describe("attempts that failed", () => {
  it("are told one by one where none served: where they went, what came, and that they cost nothing", async () => {
    const { made, account } = await rig.company([503, BUSY], {});
    const quota = await requestQuota(made);
    const answer = await rig.ask(made);
    expect(answer.status).toBe(503);
    await expectQuietBooks(made);
    const attempts = await rig.attempts(made);
    // Both deployments, and the waits that the rules of retries allow.
    expect(attempts.length).toBeGreaterThan(1);
    expect(attempts).toMatchObject(
      attempts.map((_, attempt) => ({
        ...{ requestId: answer.headers.get("x-request-id"), attempt, provider: account, served: "primary" },
        ...{ outcome: "upstream_error", status: 503, amount: "0", requests: "0", isEstimated: false },
        explanation: { failure: "overloaded" },
      })),
    );
    expect(await settled(host, made)).toEqual({ settled: 0n, held: 0n });
    expect(await host.bench.counter(made.organisationId, quota.id)).toEqual({ settled: 0n, held: 0n });
  });

  it("are told beside the one that served, which alone is a request of quotas and reports", async () => {
    const { made, account } = await rig.company([429, BROKE], {}, { places: [{}] });
    await addModel(host, made, { ...PRIMARY, name: "two", upstreamModel: "sandbox-small" }, [
      { providerId: account },
      { providerId: made.provider.id },
    ]);
    await publish(host, made);
    const quota = await requestQuota(made);
    expect(served(await rig.ask(made, { model: "two" }))).toEqual([200, "two", null]);
    await expectQuietBooks(made);
    expect(await rig.attempts(made)).toMatchObject([
      {
        attempt: 0,
        provider: account,
        outcome: "upstream_error",
        status: 429,
        amount: "0",
        explanation: { failure: "money" },
      },
      { attempt: 1, provider: made.provider.id, outcome: "ok" },
    ]);
    expect(await host.bench.counter(made.organisationId, quota.id)).toEqual({ settled: 1n, held: 0n });
    const { rows } = await host.bench.books.db.pool.query<{ requests: string }>(
      "SELECT sum(requests)::text AS requests FROM usage_rollups WHERE organisation_id = $1",
      [made.organisationId],
    );
    expect(rows).toEqual([{ requests: "1" }]);
  });

  it("are a caller's own mistakes, too, and connections that nobody took", async () => {
    const wrong = await rig.company([400, { error: { message: "no", code: "invalid_value" } }], {});
    expect((await rig.ask(wrong.made)).status).toBe(400);
    await expectQuietBooks(wrong.made);
    expect(await rig.attempts(wrong.made)).toMatchObject([
      { status: 400, amount: "0", explanation: { failure: "invalid" } },
    ]);
    const away = await rig.company([503, BUSY], {}, { places: [{}] });
    await away.provider.close();
    expect((await rig.ask(away.made)).status).toBe(502);
    await expectQuietBooks(away.made);
    for (const attempt of await rig.attempts(away.made)) expect(attempt).toMatchObject({ status: null, amount: "0" });
    expect((await rig.attempts(away.made)).length).toBeGreaterThan(0);
  });
});

describe("a call that is served at its first attempt", () => {
  it("writes one event, and one entry with the members it always had", async () => {
    const { made } = await rig.company([503, BUSY], {});
    expect((await rig.ask(made, { model: "sandbox-small" })).status).toBe(200);
    await expect.poll(() => streamLength(made)).toBe(1);
    const [[, fields] = ["", []]] = await host.bench.store.redis.xrange(keysOf(made.organisationId).usage, "-", "+");
    expect(fields.join("")).not.toMatch(/"failure"|"requests"|"failedAttempts"|"spentTargets"/u);
    await expectQuietBooks(made);
    expect(await rig.attempts(made)).toMatchObject([{ attempt: 0, outcome: "ok", requests: "1" }]);
  });
});
