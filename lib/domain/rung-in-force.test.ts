import { describe, expect, it } from "vitest";
import { MONTHLY_DEPARTMENT } from "./ladder-templates";
import { rungInForce, usedBasisPoints } from "./rung-in-force";

const nameAt = (used: bigint, limit: bigint): string | undefined => rungInForce(MONTHLY_DEPARTMENT, used, limit)?.name;

describe("rungInForce", () => {
  it("takes a rung at exactly its mark and not one nano before", () => {
    const limit = 9_000_000_000_000_000_000n;
    const mark = (limit / 10n) * 9n;
    expect(nameAt(mark - 1n, limit)).toBe("warn");
    expect(nameAt(mark, limit)).toBe("downgrade");
  });
  it("stays on the last rung past the limit", () => {
    expect(nameAt(300n, 100n)).toBe("exhausted");
  });
  it("treats a budget of zero as used up", () => {
    expect(nameAt(0n, 0n)).toBe("exhausted");
  });
});

describe("usedBasisPoints", () => {
  it("rounds towards zero, so that 100 % is never shown early", () => {
    expect(usedBasisPoints(99_999n, 100_000n)).toBe(9999);
    expect(usedBasisPoints(0n, 0n)).toBeNull();
  });
});
