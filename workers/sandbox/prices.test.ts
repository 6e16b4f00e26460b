import { describe, expect, it } from "vitest";
import { costNanos, findModel, MODELS, type SandboxModel } from "./prices";

function model(id: string): SandboxModel {
  const found = findModel(id);
  if (found === undefined) throw new Error(`no model ${id}`);
  return found;
}

function cost(id: string, promptTokens: number, cachedTokens: number, completionTokens: number): bigint {
  return costNanos(model(id), { promptTokens, cachedTokens, completionTokens });
}

describe("costNanos", () => {
  it("is the sum of plain input, cached input and output at the listed prices", () => {
    expect(cost("sandbox-large", 1_000_000, 0, 0)).toBe(2_500_000_000n);
    expect(cost("sandbox-large", 1_000_000, 1_000_000, 0)).toBe(1_250_000_000n);
    expect(cost("sandbox-large", 0, 0, 1_000_000)).toBe(10_000_000_000n);
    expect(cost("sandbox-medium", 1_000, 400, 50)).toBe(600n * 800n + 400n * 400n + 50n * 3_200n);
    expect(cost("sandbox-small", 18, 4, 40)).toBe(14n * 150n + 4n * 75n + 40n * 600n);
    expect(cost("sandbox-embed", 6, 0, 0)).toBe(120n);
  });

  it("needs no rounding at these prices, which are whole nanos a token", () => {
    for (const each of MODELS) {
      for (const price of [each.inputPrice, each.cachedInputPrice, each.outputPrice]) {
        const [whole = "0", fraction = ""] = price.split(".");
        expect(BigInt(whole + fraction.padEnd(9, "0")) % 1_000_000n).toBe(0n);
      }
    }
  });

  it("stays exact far beyond 2^53 nanos", () => {
    expect(cost("sandbox-large", 0, 0, 4_294_967_295)).toBe(42_949_672_950_000n);
  });
});
