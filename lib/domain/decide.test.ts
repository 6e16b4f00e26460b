import { describe, expect, it } from "vitest";
import { decide } from "./decide";
import { DAILY_RED_LINE, LADDER_TEMPLATES, MONTHLY_DEPARTMENT } from "./ladder-templates";
import { ACTION_KINDS, mergePolicies } from "./policy";
import type { ActionKind } from "./policy";
import type { BudgetDocument } from "./snapshot";

const policy = mergePolicies([{ ladders: LADDER_TEMPLATES, downgrade: { large: "small" } }]);

function budget(changes: Partial<BudgetDocument> = {}): BudgetDocument {
  return {
    id: "b",
    consumerId: "c",
    apiKeyId: null,
    name: "b",
    meter: "cost",
    periodKind: "month",
    enforcement: "enforce",
    ladder: null,
    environment: null,
    models: [],
    classes: [],
    perEndUser: false,
    ...changes,
  };
}

function decideFor(trafficClass: string, ladder: string, isVip = false, model = "large") {
  return decide({
    policy,
    budgets: [budget({ ladder })],
    scope: { model, trafficClass, environment: "production" },
    isVip,
    canServe: () => true,
  });
}

/** The action a ladder takes from each of its thresholds on, as the reserve script will see it. */
function actions(trafficClass: string, ladder: string): Record<number, ActionKind | undefined> {
  const steps = decideFor(trafficClass, ladder).budgets[0]?.steps ?? [];
  return Object.fromEntries(steps.map((step) => [step.atBasisPoints / 100, ACTION_KINDS[step.plan]]));
}

describe("the two ladders that ship", () => {
  it.each([
    ["core", { 0: "pass", 75: "pass", 90: "pass", 98: "downgrade", 100: "refuse" }],
    ["general", { 0: "pass", 75: "pass", 90: "downgrade", 98: "protect", 100: "refuse" }],
    ["marketing", { 0: "pass", 75: "pass", 90: "downgrade", 98: "static", 100: "static" }],
    ["offline", { 0: "pass", 75: "pass", 90: "downgrade", 98: "defer", 100: "refuse" }],
    ["a class of their own", { 0: "pass", 75: "pass", 90: "downgrade", 98: "protect", 100: "refuse" }],
  ])("monthly department, %s", (trafficClass, expected) => {
    expect(actions(trafficClass, "monthly-department")).toEqual(expected);
  });

  it.each([
    ["core", { 0: "pass", 80: "pass", 95: "downgrade", 100: "refuse" }],
    ["general", { 0: "pass", 80: "downgrade", 95: "cache_only", 100: "refuse" }],
    ["marketing", { 0: "pass", 80: "downgrade", 95: "static", 100: "static" }],
    ["offline", { 0: "pass", 80: "defer", 95: "refuse", 100: "refuse" }],
  ])("daily red line, %s", (trafficClass, expected) => {
    expect(actions(trafficClass, "daily-red-line")).toEqual(expected);
  });
});

describe("overflow", () => {
  const overflowPlan = (trafficClass: string, ladder: string, isVip: boolean) => {
    const plan = decideFor(trafficClass, ladder, isVip).budgets[0]?.overflowPlan ?? null;
    return plan === null ? null : ACTION_KINDS[plan];
  };

  it("serves everybody the cheaper model where the ladder says all", () => {
    expect(MONTHLY_DEPARTMENT.overflow).toBe("all");
    expect(overflowPlan("general", "monthly-department", false)).toBe("downgrade");
    expect(overflowPlan("core", "monthly-department", false)).toBe("downgrade");
  });

  it("serves only keys on the VIP list where the ladder says so", () => {
    expect(DAILY_RED_LINE.overflow).toBe("vip");
    expect(overflowPlan("core", "daily-red-line", false)).toBeNull();
    expect(overflowPlan("core", "daily-red-line", true)).toBe("downgrade");
  });

  it("never replaces a static answer", () => {
    expect(overflowPlan("marketing", "monthly-department", true)).toBeNull();
  });
});

describe("plans", () => {
  const plansOf = (
    model: string,
    canServe: (name: string) => boolean,
    documents = [{ ladders: LADDER_TEMPLATES, downgrade: { large: "small" } }],
  ) =>
    decide({
      policy: mergePolicies(documents),
      budgets: [budget({ models: ["large"] }), budget({ models: ["small"] })],
      scope: { model, trafficClass: "general", environment: "production" },
      isVip: false,
      canServe,
    }).plans;

  it("charge the budgets of the model they serve", () => {
    const [pass, downgrade] = plansOf("large", () => true);
    expect(pass).toMatchObject({ model: "large", decision: "pass", charges: [true, false] });
    expect(downgrade).toMatchObject({ model: "small", decision: "downgrade", charges: [false, true] });
  });

  it("keep the asked model where the cheaper one cannot be served or is not allowed", () => {
    expect(plansOf("large", (name) => name !== "small")[1]).toMatchObject({ model: "large", decision: "pass" });
    const denied = [{ ladders: LADDER_TEMPLATES, downgrade: { large: "small" }, models: { deny: ["small"] } }];
    expect(plansOf("large", () => true, denied)[1]).toMatchObject({ model: "large", decision: "pass" });
  });

  it("downgrade only to what calls of this class may use", () => {
    const ofOthers = (classes: string[]) => [
      { ladders: LADDER_TEMPLATES, downgrade: { large: "small" }, models: { deny: [{ pattern: "small", classes }] } },
    ];
    expect(plansOf("large", () => true, ofOthers(["general"]))[1]).toMatchObject({ model: "large", decision: "pass" });
    expect(plansOf("large", () => true, ofOthers(["offline"]))[1]).toMatchObject({ model: "small" });
  });

  it("are one per action, mildest first", () => {
    expect(plansOf("large", () => true).map((plan) => (plan.kind === "deny" ? plan.action : plan.decision))).toEqual([
      "pass",
      "downgrade",
      "cache_only",
      "static",
      "defer",
      "protect",
      "refuse",
    ]);
  });
});

describe("filters", () => {
  it("take a budget into a call only where model, class and environment fit", () => {
    const chosen = decide({
      policy: mergePolicies([]),
      budgets: [
        budget({ id: "any" }),
        budget({ id: "class", classes: ["core"] }),
        budget({ id: "environment", environment: "test" }),
        budget({ id: "model", models: ["lar*"] }),
        budget({ id: "other", models: ["small*"] }),
      ],
      scope: { model: "large", trafficClass: "general", environment: "production" },
      isVip: false,
      canServe: () => true,
    });
    expect(chosen.budgets.map((planned) => planned.budget.id)).toEqual(["any", "model"]);
  });

  it("a ladder that ships stands under its name where no document says otherwise", () => {
    const stepsUnder = (document: Parameters<typeof mergePolicies>[0][number]) =>
      decide({
        policy: mergePolicies([document]),
        budgets: [budget({ ladder: "monthly-department" })],
        scope: { model: "large", trafficClass: "general", environment: "production" },
        isVip: false,
        canServe: () => true,
      }).budgets[0]?.steps.map((step) => step.atBasisPoints);
    expect(stepsUnder({})).toEqual([0, 7500, 9000, 9800, 10000]);
    const own = { rungs: [{ atBasisPoints: 5000, name: "half", actions: {} }], overflow: "none" as const };
    expect(stepsUnder({ ladders: { "monthly-department": own } })).toEqual([5000]);
  });

  it("a ladder that is not in the policy limits only", () => {
    expect(decideFor("general", "no such ladder").budgets[0]?.steps).toEqual([]);
  });
});
