import { describe, expect, it } from "vitest";
import type { PolicyDocument } from "@/lib/domain/policy";
import { isModelAllowed } from "@/lib/domain/policy";
import type { ApiKeyDocument, BudgetDocument, ConsumerDocument, RateLimitDocument } from "@/lib/domain/snapshot";
import type { ChainEnds } from "./caller-chain";
import { buildChain } from "./caller-chain";

function consumer(id: string, parentId: string | null, changes: Partial<ConsumerDocument> = {}): ConsumerDocument {
  return { id, parentId, kind: "app", name: id, costCentre: null, policyId: null, frozen: false, ...changes };
}

function budget(id: string, at: Partial<BudgetDocument>): BudgetDocument {
  return {
    ...{ id, consumerId: null, apiKeyId: null, name: id, meter: "cost", periodKind: "month", enforcement: "enforce" },
    ...{ ladder: null, environment: null, models: [], classes: [], perEndUser: false },
    ...at,
  };
}

function rateLimit(id: string, consumerId: string): RateLimitDocument {
  const none = {
    apiKeyId: null,
    requestsPerSecond: null,
    burstRequests: null,
    tokensPerMinute: null,
    concurrency: null,
  };
  return { id, consumerId, requestsPerMinute: 60, ...none };
}

const KEY: ApiKeyDocument = {
  ...{ keyId: "key", appId: "platform", name: "key", environment: "production", trafficClass: "general" },
  ...{ entitledClasses: [], isVip: false, allowedIps: [], scopes: [], entitledConsumers: ["sales"], policyId: null },
  ...{ validUntilMs: null, frozen: false },
};

const TREE = [
  consumer("org", null, { kind: "organization" }),
  consumer("it", "org", { kind: "department" }),
  consumer("platform", "it"),
  consumer("sales", "org", { kind: "department" }),
  consumer("crm", "sales"),
  consumer("ada", "sales", { kind: "user", name: "ada@acme.example" }),
];
const BUDGETS = [
  budget("b-org", { consumerId: "org" }),
  budget("b-it", { consumerId: "it" }),
  budget("b-platform", { consumerId: "platform", ladder: "daily" }),
  budget("b-key", { apiKeyId: "key" }),
  budget("b-sales", { consumerId: "sales" }),
  budget("b-crm", { consumerId: "crm", ladder: "daily" }),
  budget("b-ada", { consumerId: "ada" }),
];

interface Facts {
  readonly consumers?: readonly ConsumerDocument[];
  readonly policies?: Readonly<Record<string, PolicyDocument>>;
  readonly key?: Partial<ApiKeyDocument>;
}

function chain(ends: Partial<ChainEnds> = {}, { consumers = TREE, policies = {}, key = {} }: Facts = {}) {
  const owners = new Map<string, BudgetDocument[]>();
  for (const one of BUDGETS) owners.set(one.consumerId ?? one.apiKeyId ?? "", [one]);
  const sources = {
    consumers: new Map(consumers.map((one) => [one.id, one])),
    policies: new Map(
      Object.entries(policies).map(([id, document]) => [
        id,
        { id, active: { versionId: id, document }, rollout: null },
      ]),
    ),
    budgets: owners,
    rateLimits: new Map(["org", "platform", "crm"].map((id) => [id, [rateLimit(`r-${id}`, id)]])),
  };
  const built = buildChain(sources, { key: { ...KEY, ...key }, bookedId: "platform", userId: null, ...ends });
  if (!built) throw new Error("no chain");
  return built;
}

const ids = (list: readonly { readonly id: string }[]) => list.map(({ id }) => id).sort();

describe("what stands above a call", () => {
  it("a plain call answers to its app, everything above it, and its key", () => {
    const plain = chain();
    expect(ids(plain.budgets)).toEqual(["b-it", "b-key", "b-org", "b-platform"]);
    expect(plain.consumerPath).toEqual(["org", "it", "platform"]);
    expect(plain.appId).toBe("platform");
  });

  it("a call booked on another consumer leaves out none of its own budgets, and counts each once", () => {
    const named = chain({ bookedId: "crm" });
    expect(ids(named.budgets)).toEqual(["b-crm", "b-it", "b-key", "b-org", "b-platform", "b-sales"]);
    expect(ids(named.rateLimits)).toEqual(["r-crm", "r-org", "r-platform"]);
    expect(named.consumerPath).toEqual(["org", "sales", "crm"]);
    expect(named.appId).toBe("crm");
  });

  it("the person behind a token answers with his own budget below the app", () => {
    const people = chain({ userId: "ada" });
    expect(ids(people.budgets)).toEqual(["b-ada", "b-it", "b-key", "b-org", "b-platform"]);
    expect(people.consumerPath).toEqual(["org", "it", "platform", "ada"]);
    // Booked on the person himself he is not counted twice.
    expect(ids(chain({ bookedId: "ada", userId: "ada" }).budgets)).toEqual([
      ...["b-ada", "b-it", "b-key", "b-org", "b-platform", "b-sales"],
    ]);
  });

  it.each(["it", "platform", "sales", "crm", "ada"])("a freeze of %s stops the call, from whichever side", (frozen) => {
    const consumers = TREE.map((one) => (one.id === frozen ? { ...one, frozen: true } : one));
    expect(chain({ bookedId: "crm", userId: "ada" }, { consumers }).isFrozen).toBe(true);
  });

  it("models must be allowed by both sides, and what either denies is denied", () => {
    const policies = { own: { models: { allow: ["a", "b"] } }, other: { models: { deny: ["b"] } } };
    const consumers = TREE.map((one) => (one.id === "sales" ? { ...one, policyId: "other" } : one));
    const { policy } = chain({ bookedId: "crm" }, { consumers, policies, key: { policyId: "own" } });
    expect(["a", "b", "c"].map((name) => isModelAllowed(policy, name, "general"))).toEqual([true, false, false]);
    expect(isModelAllowed(chain({}, { consumers, policies, key: { policyId: "own" } }).policy, "b", "general")).toBe(
      true,
    );
  });

  it("each budget runs the ladder that its own side gives the name", () => {
    const ladder = (atBasisPoints: number) => ({
      overflow: "none" as const,
      rungs: [{ atBasisPoints, name: "end", actions: { "*": { kind: "refuse" as const } } }],
    });
    const policies = { own: { ladders: { daily: ladder(9000) } }, other: { ladders: { daily: ladder(5000) } } };
    const consumers = TREE.map((one) => (one.id === "sales" ? { ...one, policyId: "other" } : one));
    const { budgets, policy } = chain({ bookedId: "crm" }, { consumers, policies, key: { policyId: "own" } });
    const endOf = (id: string) => {
      const name = budgets.find((one) => one.id === id)?.ladder ?? "";
      return policy.ladders[name]?.rungs[0]?.atBasisPoints;
    };
    expect(endOf("b-platform")).toBe(9000);
    expect(endOf("b-crm")).toBe(5000);
  });

  it("the smaller written-in cap of both sides holds", () => {
    const policies = { own: { outputCapTokens: 4000 }, other: { outputCapTokens: 500 } };
    const consumers = TREE.map((one) => (one.id === "crm" ? { ...one, policyId: "other" } : one));
    const { policy } = chain({ bookedId: "crm" }, { consumers, policies, key: { policyId: "own" } });
    expect(policy.outputCapTokens).toBe(500);
  });
});
