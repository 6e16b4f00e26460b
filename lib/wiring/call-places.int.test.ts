/** Where calls go and what they count: regions, the rate of a caller, models without a price. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { raiseFallbackAlerts } from "@/lib/control/fallback-alerts";
import { setRateLimit } from "@/lib/control/rate-limits";
import type { PolicyDocument } from "@/lib/domain/policy";
import { testPrincipal } from "@/lib/testing/factories";
import type { GatewayHost } from "@/lib/testing/gateway-contract/host";
import { lastUpstream, settled, upstreamCalls } from "@/lib/testing/gateway-contract/host";
import { addModel, publish } from "@/lib/testing/gateway-contract/route-models";
import type { RoutingRig } from "@/lib/testing/routing-rig";
import { BUSY, PRIMARY, served, startRoutingRig } from "@/lib/testing/routing-rig";

let rig: RoutingRig;
let host: GatewayHost;
beforeAll(async () => {
  rig = await startRoutingRig();
  ({ host } = rig);
}, 120_000);
afterAll(() => rig.close());

describe("regions", () => {
  const twoRegions = async (policy: PolicyDocument) => {
    const { made, provider, account } = await rig.company([503, BUSY], policy, { places: [{ region: "cn" }] });
    const places = [
      { providerId: made.provider.id, region: "eu", upstreamModel: "sandbox-small" },
      { providerId: account, region: "us" },
      { providerId: made.provider.id, upstreamModel: "sandbox-medium" },
    ];
    await addModel(host, made, { ...PRIMARY, name: "everywhere" }, places);
    await addModel(host, made, { ...PRIMARY, name: "abroad", upstreamModel: "sandbox-small" }, [
      { providerId: made.provider.id, region: "us" },
    ]);
    await publish(host, made);
    return { made, provider };
  };

  it("a call pinned by its caller keeps to the regions named, through all attempts", async () => {
    const { made, provider } = await twoRegions({});
    const at = async (region: string) =>
      served(await rig.ask(made, { model: "everywhere" }, { "x-spillway-region": region }));
    expect(await at("eu")).toEqual([200, "everywhere", null]);
    expect((await lastUpstream(host)).body).toContain("sandbox-small");
    const before = await upstreamCalls(host);
    // The provider in the US is busy, and nobody else may be asked.
    expect(await at("us")).toEqual([503, null, null]);
    expect([provider.calls(), (await upstreamCalls(host)) - before]).toEqual([3, 0]);
    expect(await at("mars")).toEqual([403, null, null]);
    expect(await at(" , ")).toEqual([400, null, null]);
  });

  it("a residency rule is never left: not by retries, other models or a caller's header", async () => {
    const { made, provider } = await twoRegions({ regions: ["cn"], fallbacks: { primary: ["abroad", "everywhere"] } });
    const before = await upstreamCalls(host);
    expect((await rig.ask(made)).status).toBe(503);
    expect((await rig.ask(made, {}, { "x-spillway-region": "us" })).status).toBe(403);
    expect((await rig.ask(made, { model: "abroad" })).status).toBe(403);
    expect([provider.calls(), (await upstreamCalls(host)) - before]).toEqual([3, 0]);
  });
});

describe("limits of a short window", () => {
  it("a call that is tried again counts once in the rate of its caller", async () => {
    const { made } = await rig.company([503, BUSY], { fallbacks: { primary: ["sandbox-medium"] } });
    await setRateLimit(host.bench.control, testPrincipal, {
      ...{ organisationId: made.organisationId, consumerId: made.consumers.app, apiKeyId: null },
      ...{ requestsPerMinute: 1, burstRequests: 3, tokensPerMinute: 1_000_000, concurrency: 1 },
    });
    const statuses = [];
    for (let call = 0; call < 4; call += 1) {
      const answer = await rig.ask(made);
      await answer.text();
      statuses.push(answer.status);
      await expect.poll(async () => (await settled(host, made)).held).toBe(0n);
    }
    expect(statuses).toEqual([200, 200, 200, 429]);
  });
});

describe("a model without a price", () => {
  const PRICE = { currency: "USD", rates: { inputPerToken: "0.00001", outputPerToken: "0.00003" } };

  it("is refused, and its provider never asked", async () => {
    const { made, provider, account } = await rig.company([503, BUSY], {});
    await addModel(host, made, { name: "priceless", kind: "chat", rates: null }, [{ providerId: account }]);
    await publish(host, made);
    const answer = await rig.ask(made, { model: "priceless" });
    expect([answer.status, await answer.json()]).toMatchObject([422, { error: { code: "price_missing" } }]);
    expect(provider.calls()).toBe(0);
  });

  it("is held and booked at the policy's fallback price, marked, and finance is told once", async () => {
    const { made } = await rig.company([503, BUSY], { fallbackPrice: PRICE });
    const priceless = { name: "priceless", kind: "chat", rates: null, upstreamModel: "sandbox-small" };
    await addModel(host, made, priceless);
    await publish(host, made);
    const answer = await rig.ask(made, { model: "priceless", sandbox: { promptTokens: 100, completionTokens: 8 } });
    expect([answer.status, answer.headers.get("x-spillway-price")]).toEqual([200, "fallback"]);
    expect(answer.headers.get("x-spillway-cost")).toBe("0.00124");
    await expect.poll(() => settled(host, made)).toEqual({ settled: 1_240_000n, held: 0n });
    const [entry] = await rig.booked(made);
    expect(entry).toMatchObject({ served: "priceless", price: "fallback", explanation: { price: "fallback" } });
    const since = new Date(Date.now() - 60_000);
    expect(await raiseFallbackAlerts(host.bench.books, made.organisationId, since)).toHaveLength(1);
    expect(await raiseFallbackAlerts(host.bench.books, made.organisationId, since)).toEqual([]);
  });

  it("is refused where the fallback cannot price its kind, or has no rate of exchange", async () => {
    const { made } = await rig.company([503, BUSY], { fallbackPrice: { ...PRICE, currency: "CNY" } });
    await addModel(host, made, { name: "priceless", kind: "chat", rates: null });
    await publish(host, made);
    expect((await rig.ask(made, { model: "priceless" })).status).toBe(422);
    const other = await rig.company([503, BUSY], { fallbackPrice: { currency: "USD", rates: { perQuery: "0.1" } } });
    await addModel(host, other.made, { name: "priceless", kind: "chat", rates: null });
    await publish(host, other.made);
    expect((await rig.ask(other.made, { model: "priceless" })).status).toBe(422);
  });
});
