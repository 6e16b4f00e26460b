import { describe, expect, it } from "vitest";
import type { BudgetTree } from "@/lib/contracts/budgets";
import { BUDGET_CSV_COLUMNS, budgetCsvRows } from "./budget-csv";
import type { BudgetCsvWords } from "./budget-csv";

const words: BudgetCsvWords = {
  kind: (kind) => kind,
  period: (kind) => kind,
  meter: (meter) => meter,
  rung: (name) => name,
  enforcement: (enforcement) => enforcement,
};

const budget: BudgetTree["nodes"][number]["budgets"][number] = {
  ...{ id: "bud_1", consumerId: "dep_1", apiKeyId: null, providerId: null, deploymentId: null },
  ...{ name: "Month", meter: "cost", periodKind: "month", limitAmount: "80000000000", overflowAmount: "0" },
  ...{ enforcement: "enforce", ladder: "monthly-department", environment: null, models: [], classes: [] },
  ...{ perEndUser: false, endUsers: null, frozen: false, version: "1" },
  period: { id: "M2026-11", startMs: 0, endMs: Date.UTC(2026, 10, 30, 16) },
  ...{ grantedAmount: "5000000000", grants: [], spentAmount: "72960000001", heldAmount: "40000000", source: "live" },
  ...{ usedBasisPoints: 8588, rung: { name: "warn", atBasisPoints: 7500 }, marks: [] },
};

function treeWith(...budgets: (typeof budget)[]): BudgetTree {
  const node = {
    ...{ id: "dep_1", parentId: null, kind: "department" as const, name: "Marketing", costCentre: "CC-1200" },
    ...{ frozen: false, depth: 1, budgets, allocation: null, canWrite: false, canGrant: false, canFreeze: false },
  };
  const organisation = { id: "o", name: "O", currency: "USD", timeZone: "Asia/Shanghai", isSample: false };
  return { organisation, readAtMs: 0, nodes: [node], ladders: [], models: [], classes: [] };
}

function onlyRow(tree: BudgetTree): Record<string, unknown> {
  const [row = []] = budgetCsvRows(tree, words);
  return Object.fromEntries(BUDGET_CSV_COLUMNS.map((column, index) => [column, row[index]]));
}

describe("budgets as a spreadsheet", () => {
  it("are exact to the nano, and what is left counts top-ups and what is held", () => {
    expect(onlyRow(treeWith(budget))).toMatchObject({
      ...{ node: "Marketing", costCentre: "CC-1200", unit: "USD" },
      limit: { decimal: "80" },
      spent: { decimal: "72.960000001" },
      held: { decimal: "0.04" },
      left: { decimal: "11.999999999" },
      used: { decimal: "0.8588" },
      resetUtc: "2026-11-30 16:00:00 UTC",
    });
  });

  it("count tokens and requests as they are, in their own unit", () => {
    const quota = { ...budget, meter: "total_tokens" as const, limitAmount: "1000000", grantedAmount: "0" };
    expect(onlyRow(treeWith(quota))).toMatchObject({ unit: "total_tokens", limit: { decimal: "1000000" } });
  });

  it("leave empty what is not known, and show nodes without a budget", () => {
    expect(onlyRow(treeWith({ ...budget, source: "booked" })).held).toBeNull();
    expect(onlyRow(treeWith())).toMatchObject({ node: "Marketing", limit: null, spent: null });
  });
});
