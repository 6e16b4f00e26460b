import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { PriceRates } from "@/lib/domain/price-rates";
import type { TokenUsage } from "@/lib/domain/usage-event";
import { BATCH_TIER, BatchCost } from "./batch-cost";
import { boundOf, costOf } from "./cost";
import { boundOfCalls } from "./many-calls";

const rate = fc.nat(99_999).map((digits) => `0.0000${digits.toString().padStart(5, "0")}`);
const some = <T>(one: fc.Arbitrary<T>) => fc.option(one, { nil: undefined, freq: 2 });
const rates = fc
  .record({
    inputPerToken: rate,
    outputPerToken: rate,
    cacheReadPerToken: some(rate),
    cacheWritePerToken: some(rate),
    reasoningPerToken: some(rate),
  })
  .map((found) => Object.fromEntries(Object.entries(found).filter(([, text]) => text !== undefined)));
const services = fc.dictionary(fc.constantFrom(BATCH_TIER, "priority"), rates);
const row: fc.Arbitrary<PriceRates> = fc
  .record({
    flat: rates,
    perRequest: some(rate),
    services: some(services),
    longContext: some(
      fc.record({
        mode: fc.constantFrom("whole" as const, "graduated" as const),
        steps: fc
          .tuple(fc.nat(300), rates, some(services))
          .map(([aboveTokens, step, tiers]) => [{ ...step, aboveTokens, ...(tiers ? { services: tiers } : {}) }]),
      }),
    ),
    inputTiers: some(fc.tuple(fc.nat(300), rates).map(([upToTokens, tier]) => [{ ...tier, upToTokens }])),
    windows: some(rates.map((open) => [{ hours: [{ from: "08:00", to: "20:00" }], rates: open }])),
  })
  .map(({ flat, ...found }) => ({
    ...flat,
    ...Object.fromEntries(Object.entries(found).filter(([, part]) => part !== undefined)),
  }));
const line: fc.Arbitrary<TokenUsage> = fc
  .tuple(fc.nat(400), fc.nat(400), fc.nat(100), fc.nat(100))
  .map(([inputTokens, outputTokens, read, reasoning]) => ({
    inputTokens,
    outputTokens,
    cacheReadTokens: Math.min(read, inputTokens),
    cacheWriteTokens: 0,
    reasoningTokens: Math.min(reasoning, outputTokens),
  }));

function sumsOf(lines: readonly TokenUsage[]) {
  const sum = (read: (usage: TokenUsage) => number) => lines.reduce((total, usage) => total + read(usage), 0);
  return {
    calls: lines.length,
    inputTokens: sum((usage) => usage.inputTokens),
    outputTokens: sum((usage) => usage.outputTokens),
    longestTokens: Math.max(...lines.flatMap((usage) => [usage.inputTokens, usage.outputTokens])),
  };
}

const HALF: PriceRates = {
  inputPerToken: "0.000001",
  outputPerToken: "0.000003",
  services: { [BATCH_TIER]: { inputPerToken: "0.0000005", outputPerToken: "0.0000015" } },
};
const used = (inputTokens: number, outputTokens: number): TokenUsage => ({
  ...{ inputTokens, outputTokens, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 },
});

describe("the bound of many calls", () => {
  it("is never less than what batch lines within its sums cost, each rounded by itself", () => {
    fc.assert(
      fc.property(
        row,
        fc.array(line, { minLength: 1, maxLength: 8 }),
        fc.constantFrom(0, 12 * 3_600_000),
        (rates, lines, atMs) => {
          const cost = new BatchCost(rates, atMs);
          for (const usage of lines) cost.add(usage);
          const bound = boundOfCalls(sumsOf(lines), rates, { servedTier: BATCH_TIER });
          expect(bound).toBeGreaterThanOrEqual(cost.total().amount);
        },
      ),
      { numRuns: 500 },
    );
  });

  it("is at batch prices where the row names them, a nano a call above the exact sum", () => {
    const sums = sumsOf([used(100, 10), used(50, 20)]);
    expect(boundOfCalls(sums, HALF, { servedTier: BATCH_TIER })).toBe(150n * 500n + 30n * 1_500n + 2n);
    expect(boundOf({ inputTokens: 150, outputTokens: 30, rates: HALF })).toBe(150n * 1_000n + 30n * 3_000n);
  });

  it("takes a fee once a call", () => {
    const rates: PriceRates = { inputPerToken: "0", outputPerToken: "0", perRequest: "0.001" };
    expect(boundOfCalls(sumsOf([used(1, 1), used(1, 1), used(1, 1)]), rates, {})).toBe(3_000_003n);
  });
});

describe("the cost of a batch", () => {
  it("is the sum of its lines at the batch tier, whatever tier a line says", () => {
    const cost = new BatchCost(HALF, 0);
    // Half a nano each goes to the even neighbour, line by line.
    cost.add({ ...used(101, 7), serviceTier: "default" });
    cost.add(used(1, 0));
    const { amount, lines, usage, components } = cost.total();
    expect(amount).toBe(101n * 500n + 7n * 1_500n + 500n);
    expect([lines, usage.inputTokens, usage.outputTokens, usage.serviceTier]).toEqual([2, 102, 7, BATCH_TIER]);
    expect(components).toEqual([
      { kind: "input", quantity: 102, rate: "0.0000005" },
      { kind: "output", quantity: 7, rate: "0.0000015" },
    ]);
  });

  it("of lines that end in half a nano is rounded line by line, as the bill is", () => {
    const rates: PriceRates = { inputPerToken: "0.0000000005", outputPerToken: "0" };
    const cost = new BatchCost(rates, 0);
    for (let index = 0; index < 4; index += 1) cost.add(used(1, 0));
    expect(cost.total().amount).toBe(0n);
    expect(costOf({ usage: used(4, 0), rates }).amount).toBe(2n);
  });

  it("of nothing is nothing", () => {
    expect(new BatchCost(HALF, 0).total()).toMatchObject({ lines: 0, amount: 0n, components: [] });
  });
});
