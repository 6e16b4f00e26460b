import { describe, expect, it } from "vitest";
import { boundOf, costOf } from "./cost";
import { PriceError } from "./decimal";

const usage = (
  inputTokens: number,
  outputTokens: number,
  cacheReadTokens = 0,
  cacheWriteTokens = 0,
  reasoningTokens = 0,
) => ({
  inputTokens,
  outputTokens,
  cacheReadTokens,
  cacheWriteTokens,
  reasoningTokens,
});

describe("cost of a call", () => {
  it("prices cached tokens at their own rate, inside the input count", () => {
    const rates = { inputPerToken: "0.00000125", cacheReadPerToken: "0.000000125", outputPerToken: "0.00001" };
    expect(costOf({ usage: usage(1_239_328, 12_909, 1_188_096), rates }).amount).toBe(341_642_000n);
  });

  it("keeps ten embeddings of six tokens from rounding to nothing", () => {
    const rates = { inputPerToken: "0.00000002" };
    expect(costOf({ usage: usage(6, 0), rates }).amount).toBe(120n);
  });

  it("never gives cached or reasoning tokens away when their rate is missing", () => {
    const rates = { inputPerToken: "0.000001", outputPerToken: "0.000002" };
    expect(costOf({ usage: usage(10, 10, 10, 0, 10), rates }).amount).toBe(30_000n);
  });

  it("rounds half to even, once", () => {
    expect(costOf({ usage: usage(1, 0), rates: { inputPerToken: "0.0000000005" } }).amount).toBe(0n);
    expect(costOf({ usage: usage(3, 0), rates: { inputPerToken: "0.0000000005" } }).amount).toBe(2n);
  });

  it("refuses tokens that have no rate instead of giving them away", () => {
    expect(() => costOf({ usage: usage(1, 1), rates: { inputPerToken: "0.1" } })).toThrow(PriceError);
  });

  it("holds at the dearest rate, rounded up", () => {
    const rates = { inputPerToken: "0.0000000001", cacheWritePerToken: "0.0000000002", outputPerToken: "0" };
    expect(boundOf({ inputTokens: 1, outputTokens: 5, rates })).toBe(1n);
  });
});
