import { describe, expect, it } from "vitest";
import type { BudgetView } from "@/lib/contracts/budgets";
import { MONTHLY_DEPARTMENT } from "@/lib/domain/ladder-templates";
import { draftOf, emptyDraft, meaningOf, parseAmount, toCreateInput, toUpdateInput } from "./budget-draft";

const budget: BudgetView = {
  id: "bud_1",
  consumerId: "con_1",
  apiKeyId: null,
  providerId: null,
  deploymentId: null,
  name: "Research",
  meter: "cost",
  periodKind: "month",
  limitAmount: "1000000000000",
  overflowAmount: "0",
  enforcement: "enforce",
  ladder: "monthly-department",
  environment: null,
  models: [],
  classes: [],
  perEndUser: false,
  endUsers: null,
  frozen: false,
  version: "7",
  period: { id: "M2026-11", startMs: 0, endMs: 1 },
  grantedAmount: "0",
  grants: [],
  spentAmount: "900000000000",
  heldAmount: "10000000000",
  source: "live",
  usedBasisPoints: 9100,
  rung: null,
  marks: [],
};

describe("parseAmount", () => {
  it("reads plain numbers and grouping, to the nano", () => {
    expect(parseAmount("1,500.50", "cost")).toEqual({ ok: true, amount: 1_500_500_000_000n });
    expect(parseAmount("12 000", "cost")).toEqual({ ok: true, amount: 12_000_000_000_000n });
    expect(parseAmount("0.000000001", "cost")).toEqual({ ok: true, amount: 1n });
    expect(parseAmount("5000", "requests")).toEqual({ ok: true, amount: 5000n });
  });
  it("guesses at nothing", () => {
    for (const text of ["1,50", "1e9", "-5", "12k", "0x10", "NaN"]) expect(parseAmount(text, "cost").ok).toBe(false);
    expect(parseAmount("1.5", "requests").ok).toBe(false);
    expect(parseAmount("", "cost")).toEqual({ ok: false, error: "required" });
  });
  it("says when the ledger cannot hold it", () => {
    expect(parseAmount("99999999999", "cost")).toEqual({ ok: false, error: "amount_out_of_range" });
  });
});

describe("toUpdateInput", () => {
  it("sends only what was changed, with the version that was seen", () => {
    const result = toUpdateInput({ ...draftOf(budget), amount: "1200" }, budget, "7");
    expect(result).toEqual({ ok: true, input: { expectedVersion: "7", limitAmount: "1200000000000" } });
  });
  it("names the fields at fault", () => {
    const result = toUpdateInput({ ...draftOf(budget), amount: "abc", name: " " }, budget, "7");
    expect(result).toEqual({ ok: false, errors: { limitAmount: "amount_malformed", name: "required" } });
  });
});

describe("toCreateInput", () => {
  it("says of a new budget whether each end user has it", () => {
    const draft = { ...emptyDraft("Research"), amount: "1", perEndUser: true };
    const made = toCreateInput(draft, { consumerId: "con_1", apiKeyId: null });
    expect(made.ok && made.input.perEndUser).toBe(true);
  });
});

describe("meaningOf", () => {
  it("tells the rung that the new limit would put the budget on", () => {
    const meaning = meaningOf({ ...draftOf(budget), amount: "1000" }, budget, MONTHLY_DEPARTMENT);
    expect(meaning).toMatchObject({ usedBasisPoints: 9100, isBelowUse: false, left: 90_000_000_000n });
    expect(meaning?.rung?.name).toBe("downgrade");
  });
  it("counts what is held as used when it warns", () => {
    expect(meaningOf({ ...draftOf(budget), amount: "909" }, budget, MONTHLY_DEPARTMENT)?.isBelowUse).toBe(true);
    expect(meaningOf({ ...draftOf(budget), amount: "910" }, budget, MONTHLY_DEPARTMENT)?.isBelowUse).toBe(false);
  });
  it("notices that the counter would not be the same", () => {
    expect(meaningOf({ ...draftOf(budget), periodKind: "day" }, budget, undefined)?.countsOther).toBe(true);
    expect(meaningOf({ ...draftOf(budget), name: "x" }, budget, undefined)?.countsOther).toBe(false);
  });
});
