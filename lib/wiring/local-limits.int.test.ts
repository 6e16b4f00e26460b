/** Rates and concurrency while the store is away: each process holds its callers to the limit by itself, and says so. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { setRateLimit } from "@/lib/control/rate-limits";
import type { TestOrganisation } from "@/lib/testing/factories";
import { testPrincipal } from "@/lib/testing/factories";
import type { StoreRig } from "@/lib/testing/store-rig";
import { ask, call, journal, startStoreRig } from "@/lib/testing/store-rig";

let rig: StoreRig;
beforeAll(async () => {
  rig = await startStoreRig();
});
afterAll(() => rig.close());

async function limited(bounds: { requestsPerMinute?: number; concurrency?: number }): Promise<TestOrganisation> {
  const made = await rig.organisation("warn");
  await setRateLimit(rig.bench.control, testPrincipal, {
    organisationId: made.organisationId,
    consumerId: made.consumers.app,
    apiKeyId: null,
    requestsPerSecond: null,
    requestsPerMinute: null,
    burstRequests: null,
    tokensPerMinute: null,
    concurrency: null,
    ...bounds,
  });
  return made;
}

describe("calls that pass without the store", () => {
  it("are as many as the rate says at each process, refused beyond it with a time, and all are booked", async () => {
    const made = await limited({ requestsPerMinute: 3 });
    const gateways = [await rig.bench.gateway({ journal: journal() }), await rig.bench.gateway({ journal: journal() })];
    for (const gateway of gateways)
      expect((await ask(gateway, made.apiKey.secret, { model: "none" })).status).toBe(404);
    await rig.stopStore();
    for (const gateway of gateways) {
      for (let count = 0; count < 3; count += 1) {
        const answer = await ask(gateway, made.apiKey.secret);
        expect([answer.status, answer.headers.get("x-spillway-degraded")]).toEqual([200, "quota-store"]);
        await answer.text();
      }
      const refused = await ask(gateway, made.apiKey.secret);
      expect([refused.status, refused.headers.get("x-spillway-degraded")]).toEqual([429, "quota-store"]);
      expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(15);
      expect(await refused.json()).toMatchObject({ error: { code: "rate_limit_exceeded" } });
    }
    await rig.startStore();
    await rig.heal([made], gateways);
    const booked = await rig.books(made);
    expect(booked).toMatchObject({ entries: 6, estimated: 0, settled: booked.sum, held: 0n });
    const { rows } = await rig.bench.books.db.pool.query<{ explanation: object }>(
      "SELECT explanation FROM ledger_entries WHERE organisation_id = $1",
      [made.organisationId],
    );
    for (const { explanation } of rows) expect(explanation).toMatchObject({ degraded: "quota_store" });
  }, 60_000);

  it("run no more at once than the limit says, and give their places back", async () => {
    const made = await limited({ concurrency: 2 });
    const gateway = await rig.bench.gateway({ journal: journal() });
    expect(await call(gateway, made.apiKey.secret)).toBe("200");
    await rig.stopStore();
    const { secret } = made.apiKey;
    const slow = { sandbox: { latencyMs: 1_000 } };
    const answers = await Promise.all(Array.from({ length: 5 }, () => call(gateway, secret, slow)));
    expect(answers.sort()).toEqual(["200", "200", ...Array<string>(3).fill("429 concurrency_limit_exceeded")]);
    expect(await call(gateway, secret)).toBe("200");
    await rig.startStore();
    await rig.heal([made], [gateway]);
    const answer = await ask(gateway, secret);
    expect([answer.status, answer.headers.get("x-spillway-degraded")]).toEqual([200, null]);
  }, 60_000);
});
