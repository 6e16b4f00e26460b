/** What is tried where the deployments of a model are all out: other models, within every wall that the asked one stands behind. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createBudget } from "@/lib/control/budgets";
import type { PolicyDocument } from "@/lib/domain/policy";
import type { TestOrganisation } from "@/lib/testing/factories";
import { testPrincipal } from "@/lib/testing/factories";
import type { GatewayHost } from "@/lib/testing/gateway-contract/host";
import { settled, upstreamCalls, USER } from "@/lib/testing/gateway-contract/host";
import { clientsOf } from "@/lib/testing/gateway-contract/route-caller";
import { addModel, addProvider, CLAUDE, expectBooksAgree, publish } from "@/lib/testing/gateway-contract/route-models";
import type { RoutingRig } from "@/lib/testing/routing-rig";
import { BROKE, BUSY, PRIMARY, served, startRoutingRig } from "@/lib/testing/routing-rig";

let rig: RoutingRig;
let host: GatewayHost;
beforeAll(async () => {
  rig = await startRoutingRig();
  ({ host } = rig);
}, 120_000);
afterAll(() => rig.close());

const TO_MEDIUM: PolicyDocument = { fallbacks: { primary: ["sandbox-medium"] } };

describe("where all deployments of a model fail", () => {
  it("the next model of the policy's list serves at its own price, whole and streamed; headers and ledger say so", async () => {
    const { made, provider } = await rig.company([503, BUSY], TO_MEDIUM);
    const { openai, requestId } = clientsOf(host, made);
    const whole = await openai.chat.completions.create({ model: "primary", messages: USER }).withResponse();
    expect(served(whole.response)).toEqual([200, "sandbox-medium", "primary"]);
    expect(whole.response.headers.get("x-spillway-requested-model")).toBe("primary");
    expect(provider.calls()).toBe(2);
    await expectBooksAgree(host, made, requestId());
    let text = "";
    for await (const chunk of await openai.chat.completions.create({ model: "primary", messages: USER, stream: true }))
      text += chunk.choices[0]?.delta.content ?? "";
    expect(text).toMatch(/^w0 w1/u);
    await expectBooksAgree(host, made, requestId());
    const [entry] = await rig.booked(made);
    expect(entry).toMatchObject({ served: "sandbox-medium", requested: "primary", attempt: 2 });
    expect(entry?.explanation).toMatchObject({
      standsInFor: "primary",
      failedAttempts: [
        { model: "primary", failure: "overloaded", status: 503 },
        { model: "primary", failure: "overloaded", status: 503 },
      ],
    });
    await expect.poll(async () => (await settled(host, made)).held).toBe(0n);
  });

  it("a list is tried in its order, each model at its own deployments, and the last failure is the answer", async () => {
    const { made, provider, account } = await rig.company([500, {}], { fallbacks: { primary: ["second", "third"] } });
    await addModel(host, made, { ...PRIMARY, name: "second" }, [{ providerId: account }]);
    await addModel(host, made, { ...PRIMARY, name: "third" }, [{ providerId: account }]);
    await publish(host, made);
    const answer = await rig.ask(made);
    expect(answer.status).toBe(502);
    // Twice the first, once each of the others, and two waits for the last before the call gives up.
    expect(provider.calls()).toBe(6);
    await expect.poll(() => settled(host, made)).toEqual({ settled: 0n, held: 0n });
  });

  it("an account without money is out with all its models, and calls go straight to the other", async () => {
    const { made, provider, account } = await rig.company([429, BROKE], {
      fallbacks: { primary: ["sandbox-medium"], neighbour: ["sandbox-medium"] },
    });
    await addModel(host, made, { ...PRIMARY, name: "neighbour" }, [{ providerId: account }]);
    await publish(host, made);
    expect(served(await rig.ask(made))).toEqual([200, "sandbox-medium", "primary"]);
    expect(provider.calls()).toBe(1);
    expect(served(await rig.ask(made))).toEqual([200, "sandbox-medium", "primary"]);
    expect(served(await rig.ask(made, { model: "neighbour" }))).toEqual([200, "sandbox-medium", "neighbour"]);
    expect(provider.calls()).toBe(1);
  });

  it("a caller's own mistake goes nowhere else", async () => {
    const { made, provider } = await rig.company([400, { error: { message: "no", code: "invalid_value" } }], TO_MEDIUM);
    const before = await upstreamCalls(host);
    expect((await rig.ask(made)).status).toBe(400);
    expect([provider.calls(), (await upstreamCalls(host)) - before]).toEqual([1, 0]);
  });

  it("a model that a budget has no room for is not asked: refused means no further attempt", async () => {
    const { made } = await rig.company([503, BUSY], TO_MEDIUM);
    await createBudget(host.bench.control, testPrincipal, {
      ...{ organisationId: made.organisationId, consumerId: made.consumers.app, apiKeyId: null, name: "medium" },
      ...{ meter: "cost", periodKind: "month", limitAmount: "1", overflowAmount: "0", enforcement: "enforce" },
      ...{ ladder: null, environment: null, models: ["sandbox-medium"], classes: [] },
    });
    const before = await upstreamCalls(host);
    expect((await rig.ask(made)).status).toBe(503);
    expect(await upstreamCalls(host)).toBe(before);
    await expect.poll(() => settled(host, made)).toEqual({ settled: 0n, held: 0n });
  });

  it("a cheaper model whose deployments are out is not served from the downgrade rung: what stands in for it is, else the asked one", async () => {
    const ladders = {
      always: {
        rungs: [{ atBasisPoints: 0, name: "cheap", actions: { "*": { kind: "downgrade" as const } } }],
        overflow: "none" as const,
      },
    };
    for (const [fallbacks, expected] of [
      [{ primary: ["sandbox-small"] }, ["sandbox-small", "downgrade"]],
      [{}, ["sandbox-large", "pass"]],
    ] as const) {
      const { made } = await rig.company(
        [429, BROKE],
        {
          ladders,
          downgrade: { "sandbox-large": "primary" },
          fallbacks: Object.fromEntries(Object.entries(fallbacks).map(([name, list]) => [name, [...list]])),
        },
        { budget: { ladder: "always" } },
      );
      const answer = await rig.ask(made, { model: "sandbox-large" });
      expect([answer.headers.get("x-spillway-model"), answer.headers.get("x-spillway-decision")]).toEqual(expected);
    }
  });
});

describe("what stands in for a model stands behind the same walls", () => {
  const skips = async (made: TestOrganisation, more: object = {}) => served(await rig.ask(made, more));

  it("models that are denied, unknown, unpriced or of another kind are passed over", async () => {
    const { made } = await rig.company([503, BUSY], {
      fallbacks: { "prim*": ["nobody", "sandbox-large", "sandbox-embed", "priceless", "sandbox-small"] },
      models: { deny: ["*-large"] },
    });
    await addModel(host, made, { ...PRIMARY, name: "priceless", rates: null });
    await publish(host, made);
    expect(await skips(made)).toEqual([200, "sandbox-small", "primary"]);
  });

  it("a test key reaches no model outside the company's walls", async () => {
    const { made } = await rig.company(
      [503, BUSY],
      { fallbacks: { primary: ["outside", "sandbox-small"] } },
      { key: { environment: "test" } },
    );
    await addModel(host, made, { ...PRIMARY, name: "outside", isExternal: true, upstreamModel: "sandbox-medium" });
    await publish(host, made);
    expect(await skips(made)).toEqual([200, "sandbox-small", "primary"]);
  });

  it("a model of another shape is tried only with a body that has an exact counterpart there", async () => {
    const { made } = await rig.company([503, BUSY], { fallbacks: { primary: [CLAUDE.name, "sandbox-small"] } });
    const anthropic = await addProvider(host, made, "anthropic", host.bench.sandbox.url);
    await addModel(host, made, CLAUDE, [{ providerId: anthropic }]);
    await publish(host, made);
    const exact = await rig.ask(made);
    expect(served(exact)).toEqual([200, CLAUDE.name, "primary"]);
    expect(await exact.json()).toMatchObject({ object: "chat.completion" });
    expect(await skips(made, { logprobs: true })).toEqual([200, "sandbox-small", "primary"]);
  });

  it("the caller's own ceiling holds for a dearer model, too", async () => {
    const { made } = await rig.company([503, BUSY], { fallbacks: { primary: ["dear"] } });
    const dear = { ...PRIMARY.rates, outputPerToken: "1" };
    await addModel(host, made, { name: "dear", kind: "chat", rates: dear, upstreamModel: "sandbox-small" });
    await publish(host, made);
    const before = await upstreamCalls(host);
    expect((await rig.ask(made, {}, { "x-spillway-max-cost": "0.01" })).status).toBe(503);
    expect(await upstreamCalls(host)).toBe(before);
  });
});
