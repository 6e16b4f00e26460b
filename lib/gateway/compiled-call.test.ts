import { describe, expect, it } from "vitest";
import { compiledCall } from "./compiled-call";
import type { SnapshotDocuments } from "./organisation-view";
import { viewOf } from "./organisation-view";
import { servingOf } from "./serving";
import { callOfTargets } from "./target-call";
import type { ApiKeyDocument, BudgetDocument, ModelDocument } from "@/lib/domain/snapshot";

/** As every kind of provider does it that speaks OpenAI's API. */
const adapterOf = () => ({
  vendor: "openai",
  pathOf: (_provider: unknown, route: string) => (route === "messages" ? undefined : `/v1/${route}`),
  passedHeaders: () => [],
});

const NOW = Date.parse("2026-03-10T12:00:00Z");

function model(changes: Partial<ModelDocument> = {}): ModelDocument {
  return {
    id: "m",
    name: "chat",
    kind: "chat",
    maxOutputTokens: null,
    contextTokens: null,
    isExternal: true,
    disabled: false,
    createdMs: 0,
    deployments: [
      {
        id: "d",
        providerId: "v",
        upstreamModel: "up",
        weight: 1,
        priority: 0,
        region: null,
        timeoutMs: 1000,
        connectTimeoutMs: null,
        firstByteTimeoutMs: null,
        idleTimeoutMs: null,
      },
    ],
    prices: [
      {
        id: "p",
        currency: "USD",
        rates: { inputPerToken: "0.1", outputPerToken: "0.1" },
        effectiveFromMs: 0,
        effectiveToMs: null,
      },
    ],
    ...changes,
  };
}

const key: ApiKeyDocument = {
  keyId: "k",
  appId: "app",
  name: "k",
  environment: "production",
  trafficClass: "general",
  entitledClasses: [],
  isVip: false,
  allowedIps: [],
  scopes: [],
  entitledConsumers: [],
  policyId: null,
  validUntilMs: null,
  frozen: false,
};

function world(changes: Partial<SnapshotDocuments> = {}) {
  const consumer = (id: string, parentId: string | null, kind: "organization" | "app") => ({
    id,
    parentId,
    kind,
    name: id,
    costCentre: null,
    policyId: null,
    frozen: false,
  });
  return viewOf({
    epoch: "1",
    documents: {
      organisation: {
        id: "org1",
        name: "Org",
        currency: "USD",
        timeZone: "Asia/Shanghai",
        fiscalYearStartMonth: 1,
        weekStartsOn: 1,
        locale: "en",
        budgetRefusalStatus: 429,
        topUpUrl: null,
      },
      fx: [],
      consumers: [consumer("org1", null, "organization"), consumer("app", "org1", "app")],
      budgets: [],
      rateLimits: [],
      policies: [],
      models: [model()],
      issuers: [],
      providers: [
        {
          id: "v",
          kind: "openai",
          name: "v",
          baseUrl: "https://v",
          secretBox: null,
          isExternal: true,
          disabled: false,
        },
      ],
      ...changes,
    },
  });
}

function serving(view: ReturnType<typeof world>, caller: ApiKeyDocument = key, name = "chat", nowMs = NOW) {
  const chain = view.chainOf(caller);
  if (!chain) throw new Error("no chain");
  const shape = { kinds: ["chat"], trafficClass: "general", route: "chat/completions", regions: null };
  return servingOf(view, chain, name, shape, nowMs, adapterOf);
}

describe("where a model is served", () => {
  it("a test key reaches neither a model nor a provider outside the walls", () => {
    const test = { ...key, environment: "test" as const };
    expect(serving(world(), test)).toMatchObject({ code: "environment_forbidden" });
    expect(serving(world({ models: [model({ isExternal: false })] }), test)).toMatchObject({
      code: "environment_forbidden",
    });
  });

  it("a model without a price, or with only a coming or an ended one, is refused, never free", () => {
    const [price] = model().prices;
    if (!price) throw new Error("no price");
    for (const prices of [[], [{ ...price, effectiveFromMs: NOW + 1 }], [{ ...price, effectiveToMs: NOW }]]) {
      expect(serving(world({ models: [model({ prices })] }))).toMatchObject({ code: "price_missing" });
    }
    const inputOnly = { ...price, rates: { inputPerToken: "0.1" } };
    expect(serving(world({ models: [model({ prices: [inputOnly] })] }))).toMatchObject({ code: "price_missing" });
  });

  it("a price in another currency needs a rate of its day", () => {
    const yuan = model({ prices: model().prices.map((price) => ({ ...price, currency: "CNY" })) });
    expect(serving(world({ models: [yuan] }))).toMatchObject({ code: "price_missing" });
    const fx = [
      { id: "1", base: "CNY", quote: "USD", rate: "0.13", effectiveFromMs: 0 },
      { id: "2", base: "CNY", quote: "USD", rate: "0.14", effectiveFromMs: NOW },
      { id: "3", base: "CNY", quote: "USD", rate: "0.15", effectiveFromMs: NOW + 1 },
    ];
    expect(serving(world({ models: [yuan], fx }))).toMatchObject({ fxRate: "0.14" });
  });

  it("unknown, disabled and wrong-kind models look the same", () => {
    expect(serving(world(), key, "nothing")).toMatchObject({ code: "model_not_found" });
    expect(serving(world({ models: [model({ disabled: true })] }))).toMatchObject({ code: "model_not_found" });
    expect(serving(world({ models: [model({ kind: "embedding" })] }))).toMatchObject({ code: "model_not_found" });
  });
});

describe("a compiled call", () => {
  it("holds while its periods and prices hold, and not a millisecond longer", () => {
    const [price] = model().prices;
    if (!price) throw new Error("no price");
    const changesAt = NOW + 5000;
    const view = world({
      models: [
        model({
          prices: [
            { ...price, effectiveToMs: changesAt },
            { ...price, id: "p2", effectiveFromMs: changesAt },
          ],
        }),
      ],
      budgets: [
        {
          id: "b",
          consumerId: "app",
          apiKeyId: null,
          name: "b",
          meter: "cost",
          periodKind: "day",
          enforcement: "enforce",
          ladder: null,
          environment: null,
          models: [],
          classes: [],
          perEndUser: false,
        },
      ],
    });
    const chain = view.chainOf(key);
    if (!chain) throw new Error("no chain");
    const shape = { model: "chat", kinds: ["chat"], trafficClass: "general", route: "chat/completions", regions: null };
    const first = compiledCall(view, chain, shape, NOW, adapterOf);
    expect(compiledCall(view, chain, shape, changesAt - 1, adapterOf)).toBe(first);
    const second = compiledCall(view, chain, shape, changesAt, adapterOf);
    expect(second).toMatchObject({
      servings: [{ price: { id: "p2" } }, { price: { id: "p2" } }, ...Array.from({ length: 5 })],
    });
    // Midnight in Shanghai is 16:00 UTC.
    expect(second).toMatchObject({
      windowEndMs: Date.parse("2026-03-10T16:00:00Z"),
      lines: [{ periodId: "D2026-03-10" }],
    });
    const third = compiledCall(view, chain, shape, Date.parse("2026-03-10T16:00:00Z"), adapterOf);
    expect(third).toMatchObject({ lines: [{ periodId: "D2026-03-11" }] });
  });
});

describe("budgets of providers and deployments", () => {
  const budget = (id: string, more: Partial<BudgetDocument> = {}): BudgetDocument => ({
    ...{ id, consumerId: null, apiKeyId: null, name: id, meter: "cost", periodKind: "month", enforcement: "enforce" },
    ...{ ladder: null, environment: null, models: [], classes: [], perEndUser: false, ...more },
  });
  const shape = { model: "chat", kinds: ["chat"], trafficClass: "general", route: "chat/completions", regions: null };

  function callWith(budgets: readonly BudgetDocument[], nowMs = NOW, view = world({ budgets })) {
    const chain = view.chainOf(key);
    if (!chain) throw new Error("no chain");
    const call = compiledCall(view, chain, shape, nowMs, adapterOf);
    if ("kind" in call) throw new Error(call.code);
    return { view, call, limited: callOfTargets(call, { view, chain, trafficClass: "general" }, nowMs) };
  }

  it("are lines after the caller's own, of the call that is sent there, and never a rung or an overflow", () => {
    const { call, limited } = callWith([
      budget("of provider", { targetId: "v" }),
      budget("of app", { consumerId: "app" }),
      budget("of deployment", { targetId: "d", periodKind: "day" }),
      budget("of another", { targetId: "other" }),
      budget("of other models", { targetId: "v", models: ["image-*"] }),
      budget("of another class", { targetId: "v", classes: ["offline"] }),
    ]);
    expect(call.lines.map(({ budgetId }) => budgetId)).toEqual(["of app"]);
    expect(limited.lines).toMatchObject([
      { budgetId: "of app", periodId: "M2026-03" },
      { budgetId: "of provider", periodId: "M2026-03", targetId: "v", rungs: "", overflowPlan: null },
      { budgetId: "of deployment", periodId: "D2026-03-10", targetId: "d", rungs: "", overflowPlan: null },
    ]);
    expect(limited.servings[0]?.plan.charges).toEqual([true, true, true]);
    expect(limited.linePrefixes).toHaveLength(3);
  });

  it("open a new period when theirs is over, though the caller's own goes on", () => {
    const budgets = [
      budget("of app", { consumerId: "app" }),
      budget("of provider", { targetId: "v", periodKind: "day" }),
    ];
    const { view, call, limited } = callWith(budgets);
    expect(limited.windowEndMs).toBe(Date.parse("2026-03-10T16:00:00Z"));
    const after = callWith(budgets, limited.windowEndMs, view);
    expect(after.call).toBe(call);
    expect(after.limited.lines.map(({ periodId }) => periodId)).toEqual(["M2026-03", "D2026-03-11"]);
  });

  it("change nothing for calls that go elsewhere", () => {
    const { call, limited } = callWith([budget("of another", { targetId: "other" })]);
    expect(limited).toBe(call);
    const without = callWith([]);
    expect(without.limited).toBe(without.call);
  });
});

describe("a chain", () => {
  it("is frozen where any consumer is, and gone where a link is missing or the chain is a ring", () => {
    const frozen = world().consumers.get("org1");
    const app = world().consumers.get("app");
    if (!frozen || !app) throw new Error("no consumers");
    expect(world({ consumers: [{ ...frozen, frozen: true }, app] }).chainOf(key)?.isFrozen).toBe(true);
    expect(world().chainOf({ ...key, appId: "gone" })).toBeUndefined();
    const ring = world().consumers.get("app");
    if (!ring) throw new Error("no app");
    expect(world({ consumers: [{ ...ring, parentId: "app" }] }).chainOf(key)).toBeUndefined();
  });
});
