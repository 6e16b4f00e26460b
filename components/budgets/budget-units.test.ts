import { describe, expect, it } from "vitest";
import type { BudgetTree, BudgetView } from "@/lib/contracts/budgets";
import { emptyDraft } from "./budget-draft";
import { limitMeaning } from "./budget-units";

const UNIT = 1_000_000_000n;

function budget(limit: bigint): BudgetView {
  return {
    ...{ id: "bud", consumerId: "con", apiKeyId: null, name: "Plan", meter: "cost", periodKind: "month" },
    ...{ limitAmount: String(limit), perEndUser: false },
  } as unknown as BudgetView;
}

function treeWith(above: BudgetView[]): BudgetTree {
  const nodes = [
    { id: "org", parentId: null, budgets: above },
    { id: "team", parentId: "org", budgets: [] },
    { id: "app", parentId: "team", budgets: [] },
  ];
  return { nodes } as unknown as BudgetTree;
}

const draft = { ...emptyDraft("app"), amount: "12,000" };

describe("what a typed limit comes to", () => {
  it("is said a day, in the unit of the meter, exactly", () => {
    expect(limitMeaning(treeWith([]), "app", null, draft)).toMatchObject({
      amount: 12_000n * UNIT,
      perDay: 400n * UNIT,
      against: null,
      isSuspicious: false,
    });
    const tokens = { ...draft, meter: "total_tokens" as const, periodKind: "day" as const };
    expect(limitMeaning(treeWith([]), "app", null, tokens)).toMatchObject({ amount: 12_000n, perDay: 12_000n });
    expect(limitMeaning(treeWith([]), "app", null, { ...draft, amount: "twelve" })).toBeUndefined();
  });

  it.each([
    ["119999", false],
    ["120000", true],
    ["1201", false],
    ["1200", true],
    ["12000", false],
  ])("against a saved limit of 12,000, %s is suspicious: %s", (amount, isSuspicious) => {
    const found = limitMeaning(treeWith([]), "app", budget(12_000n * UNIT), { ...draft, amount });
    expect(found?.isSuspicious).toBe(isSuspicious);
    expect(found?.against?.kind).toBe("saved");
  });

  it("is held against the nearest limit above for a new one, and asked about where it exceeds that", () => {
    const tree = treeWith([budget(10_000n * UNIT)]);
    expect(limitMeaning(tree, "app", null, draft)).toMatchObject({
      against: { kind: "above", amount: 10_000n * UNIT },
      timesTenths: 12n,
      isSuspicious: true,
    });
    expect(limitMeaning(tree, "app", null, { ...draft, amount: "5" })?.isSuspicious).toBe(false);
    expect(limitMeaning(tree, "app", null, { ...draft, periodKind: "day" })?.against).toBeNull();
  });

  it("holds a limit that counts otherwise now against nothing that was saved", () => {
    const other = { ...draft, periodKind: "year" as const };
    expect(limitMeaning(treeWith([]), "app", budget(UNIT), other)?.against).toBeNull();
  });
});
