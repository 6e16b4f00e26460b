import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bothSessionLimits } from "./call-settings";
import { LADDER_TEMPLATES } from "./ladder-templates";
import {
  downgradeTarget,
  isModelAllowed,
  ladderSchema,
  matchesPattern,
  mergePolicies,
  modelVerdict,
  policyDocumentSchema,
} from "./policy";
import { inRollout, rolloutBucket } from "./rollout";

describe("patterns", () => {
  it.each([
    ["gpt-4o", "gpt-4o", true],
    ["gpt-4o", "gpt-4o-mini", false],
    ["gpt-4o*", "gpt-4o-mini", true],
    ["*-mini", "gpt-4o-mini", true],
    ["a*b*c", "a-b-b-c", true],
    ["a*bc*c", "abc", false],
    ["*", "", true],
    ["ab*ba", "aba", false],
  ])("%s on %s", (pattern, name, expected) => {
    expect(matchesPattern(pattern, name)).toBe(expected);
  });

  it("agree with a regular expression", () => {
    const letters = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 8 });
    fc.assert(
      fc.property(fc.array(letters, { minLength: 1, maxLength: 4 }), letters, (parts, name) => {
        const expected = new RegExp(`^${parts.join(".*")}$`, "u").test(name);
        expect(matchesPattern(parts.join("*"), name)).toBe(expected);
      }),
    );
  });
});

describe("merging along the chain", () => {
  it("narrows model lists and lets the nearest win for the rest", () => {
    const policy = mergePolicies([
      { models: { allow: ["a*", "b"] }, outputCapTokens: 100, clientGone: "drain" },
      { models: { allow: ["a1", "c"], deny: ["a2"] }, outputCapTokens: 50 },
    ]);
    expect(["a1", "a3", "b", "c"].filter((model) => isModelAllowed(policy, model, "core"))).toEqual(["a1"]);
    expect(policy).toMatchObject({ outputCapTokens: 50, clientGone: "drain" });
  });

  it("binds entries of model lists to classes, by which lists narrow, too", () => {
    const policy = mergePolicies([
      { models: { allow: ["gpt-*", { pattern: "o3", classes: ["core"] }] } },
      { models: { deny: [{ pattern: "gpt-5*", classes: ["offline", "marketing"] }, "gpt-4-old"] } },
    ]);
    const verdicts = (trafficClass: string) =>
      ["gpt-4", "gpt-4-old", "gpt-5-pro", "o3", "qwen"].map((model) => modelVerdict(policy, model, trafficClass));
    expect(verdicts("core")).toEqual(["allowed", "denied", "allowed", "allowed", "denied"]);
    expect(verdicts("general")).toEqual(["allowed", "denied", "allowed", "denied_to_class", "denied"]);
    expect(verdicts("offline")).toEqual(["allowed", "denied", "denied_to_class", "denied_to_class", "denied"]);
  });

  it("refuses a list entry that names no class or something else beside", () => {
    for (const entry of [
      { pattern: "gpt-*", classes: [] },
      { pattern: "gpt-*" },
      { pattern: "", classes: ["core"] },
      1,
    ]) {
      expect(policyDocumentSchema.safeParse({ models: { deny: [entry] } }).success).toBe(false);
    }
  });

  it("takes a call's hold and what a session may use from the nearest that says so, whole", () => {
    const root = policyDocumentSchema.parse({
      reserve: { mode: "incremental" },
      session: { costNanos: "5000000000", requests: 100 },
    });
    expect(mergePolicies([root])).toMatchObject({
      increments: { sliceTokens: 1024, marginTokens: 256 },
      session: { costNanos: "5000000000", requests: 100, idleSeconds: 3600, isRequired: false },
    });
    const nearer = policyDocumentSchema.parse({ reserve: { mode: "max" }, session: { requests: 3 } });
    const merged = mergePolicies([root, nearer]);
    expect(merged.increments).toBeNull();
    expect(merged.session).toEqual({ requests: 3, idleSeconds: 3600, isRequired: false });
  });

  it.each([
    [{ reserve: { mode: "incremental", sliceTokens: 100, marginTokens: 60 } }, "reserve.marginTokens"],
    [{ reserve: { mode: "some" } }, "reserve.mode"],
    [{ reserve: { mode: "incremental", sliceTokens: 1.5 } }, "reserve.sliceTokens"],
    [{ session: {} }, "session.costNanos"],
    [{ session: { costNanos: "0" } }, "session.costNanos"],
    [{ session: { costNanos: 5 } }, "session.costNanos"],
    [{ session: { costNanos: "9223372036854775808" } }, "session.costNanos"],
    [{ session: { requests: 1, idleSeconds: 5 } }, "session.idleSeconds"],
  ])("says which setting of %j is wrong", (document, path) => {
    const result = policyDocumentSchema.safeParse(document);
    expect(result.error?.issues.map((issue) => issue.path.join("."))).toEqual([path]);
  });

  it("holds a call under two policies to the lower limit of each, and remembers its session as long as either", () => {
    const [one, other] = [
      { costNanos: "9", requests: 5 },
      { costNanos: "10", idleSeconds: 7200, isRequired: true },
    ].map((session) => mergePolicies([policyDocumentSchema.parse({ session })]).session);
    const both = { costNanos: "9", requests: 5, idleSeconds: 7200, isRequired: true };
    expect(bothSessionLimits(one ?? null, other ?? null)).toEqual(both);
    expect(bothSessionLimits(null, other ?? null)).toBe(other);
  });

  it("finds the cheaper model by name first, then by the longest pattern, never itself", () => {
    const policy = mergePolicies([{ downgrade: { "gpt-*": "small", "gpt-4*": "medium", "gpt-4o": "tiny" } }]);
    expect(["gpt-4o", "gpt-4.1", "gpt-3", "other"].map((model) => downgradeTarget(policy, model))).toEqual([
      "tiny",
      "medium",
      "small",
      undefined,
    ]);
    expect(downgradeTarget(mergePolicies([{ downgrade: { "*": "small" } }]), "small")).toBeUndefined();
  });
});

describe("documents", () => {
  it("may name a fallback price, of which the nearest holds; without one a call without a price is refused", () => {
    const at = (inputPerToken: string) => ({ fallbackPrice: { currency: "USD", rates: { inputPerToken } } });
    expect(mergePolicies([at("0.1"), {}, at("0.2"), {}]).fallbackPrice?.rates.inputPerToken).toBe("0.2");
    expect(mergePolicies([{}]).fallbackPrice).toBeNull();
  });

  it.each([
    ["NaN", { currency: "USD", rates: { inputPerToken: "NaN" } }],
    ["1e309", { currency: "USD", rates: { inputPerToken: "1e309" } }],
    ["a negative rate", { currency: "USD", rates: { inputPerToken: "-1" } }],
    ["a number", { currency: "USD", rates: { inputPerToken: 1 } }],
    ["no rate", { currency: "USD", rates: {} }],
    ["no currency", { currency: "dollars", rates: { inputPerToken: "1" } }],
  ])("refuse a fallback price with %s", (_, fallbackPrice) => {
    expect(policyDocumentSchema.safeParse({ fallbackPrice }).success).toBe(false);
  });

  it("the templates are valid documents", () => {
    expect(policyDocumentSchema.safeParse({ ladders: LADDER_TEMPLATES }).success).toBe(true);
  });

  it("refuse rungs that do not rise, rungs without a default, and words they do not know", () => {
    const rung = (atBasisPoints: number) => ({ atBasisPoints, name: "r", actions: { "*": { kind: "pass" } } });
    expect(ladderSchema.safeParse({ rungs: [rung(10), rung(10)] }).success).toBe(false);
    expect(ladderSchema.safeParse({ rungs: [{ ...rung(1), actions: { core: { kind: "pass" } } }] }).success).toBe(
      false,
    );
    expect(policyDocumentSchema.safeParse({ surprise: true }).success).toBe(false);
  });
});

describe("rollout", () => {
  it("only ever adds consumers as its percentage rises, and spreads them evenly", () => {
    const ids = Array.from({ length: 2000 }, (_, index) => `consumer-${String(index)}`);
    const exposed = (percent: number) => ids.filter((id) => inRollout("policy", id, percent));
    expect(exposed(10).every((id) => exposed(30).includes(id))).toBe(true);
    expect(exposed(30).length).toBeGreaterThan(500);
    expect(exposed(30).length).toBeLessThan(700);
    expect(ids.every((id) => rolloutBucket("policy", id) < 100)).toBe(true);
  });
});
