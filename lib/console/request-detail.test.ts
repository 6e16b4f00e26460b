import { describe, expect, it } from "vitest";
import { componentNanos, toExplanation } from "./request-detail";

const names = {
  budgets: new Map([["bud_1", { name: "Month", consumerName: "Support", meter: "cost" }]]),
  targets: new Map([["prv_1", "Main account"]]),
};

describe("what the gateway wrote about its decision", () => {
  it("is read field by field from a settled call", () => {
    const written = {
      plan: "downgrade",
      rungBasisPoints: 9_000,
      rungName: "downgrade",
      ratioBasisPoints: 9_312,
      budgetId: "bud_1",
      ladder: "monthly-department",
      settled: "27936000",
      held: "0",
      limit: "30000000",
      ignoredClass: "core",
    };
    expect(toExplanation(written, names)).toEqual({
      budgetId: "bud_1",
      budgetName: "Month",
      consumerName: "Support",
      meter: "cost",
      ladder: "monthly-department",
      rungName: "downgrade",
      rungBasisPoints: 9_000,
      ratioBasisPoints: 9_312,
      settledAmount: "27936000",
      heldAmount: "0",
      limitAmount: "30000000",
      ignoredClass: "core",
      failure: null,
      spentTargets: [],
    });
  });

  it("says of an attempt what it failed of", () => {
    expect(toExplanation({ plan: "pass", rungBasisPoints: 0, failure: "overloaded" }, names)).toMatchObject({
      failure: "overloaded",
    });
  });

  it("names the providers that were passed over, by their ids where they are gone", () => {
    expect(toExplanation({ spentTargets: ["prv_1", "prv_gone", 7] }, names)).toMatchObject({
      spentTargets: ["Main account", "prv_gone"],
    });
  });

  it("is read from a refusal, whose rung is null where a limit alone decided", () => {
    const written = {
      budgetId: "bud_1",
      periodId: "M2026-11",
      limit: "5",
      settled: "4",
      held: "1",
      rungBasisPoints: null,
    };
    expect(toExplanation(written, names)).toMatchObject({ rungBasisPoints: null, settledAmount: "4", heldAmount: "1" });
  });

  it("is nothing where it wrote nothing that can be told, and never more than it wrote", () => {
    expect(toExplanation(null, names)).toBeNull();
    expect(toExplanation({ detail: "this key may not be used from this address" }, names)).toBeNull();
    expect(toExplanation({ settled: 12, limit: "1e3", budgetId: "bud_gone" }, names)).toMatchObject({
      budgetName: null,
      settledAmount: null,
      limitAmount: null,
    });
  });
});

describe("the parts of a cost", () => {
  it.each([
    [1234, "0.00000015", undefined, "185100"],
    [1, "0.0000000381469", undefined, "38.1469"],
    [93.457, "0.0001", undefined, "9345700"],
    [4000, "0.000005", "1.1", "22000000"],
    [1, "1e-6", undefined, undefined],
  ])("%s pieces at %s, times %s, are %s nanos", (quantity, rate, multiplier, nanos) => {
    expect(componentNanos(quantity, rate, multiplier)).toBe(nanos);
  });
});
