import { describe, expect, it } from "vitest";
import {
  amountOfMeter,
  callCostText,
  compactText,
  exactMoneyText,
  moneyText,
  moneyWithCode,
  percentText,
  ratioBasisPoints,
} from "./money";

describe("money text", () => {
  it("never shows an amount that is not zero as zero", () => {
    expect(moneyText("120", "en")).toBe("0.00000012");
    expect(moneyText("0", "en")).toBe("0.00");
  });

  it("is exact beyond the integers a float can hold", () => {
    expect(moneyText("9007199254740993000000000".slice(0, 19), "en")).toBe("9,007,199,254.74");
    expect(moneyText("9223372036854775807", "en")).toBe("9,223,372,036.85");
  });

  it("puts the code before the amount, without a place to break", () => {
    expect(moneyWithCode("1500000000", "CNY", "zh-CN")).toBe("CNY\u00a01.50");
  });

  it("of one call has four digits, so that a column of them can be read down, and more only where four say nothing", () => {
    expect(callCostText("80000000", "en")).toBe("0.0800");
    expect(callCostText("4800000", "en")).toBe("0.0048");
    expect(callCostText("0", "en")).toBe("0.0000");
    expect(callCostText("12300", "en")).toBe("0.000012");
  });

  it("in a sum on the page is exact, so that its lines add up", () => {
    expect(exactMoneyText("6232500", "en")).toBe("0.006232500");
    expect(exactMoneyText("10552000", "en")).toBe("0.010552");
    expect(exactMoneyText("0", "en")).toBe("0.000000");
  });

  it("prints tokens and requests as plain counts", () => {
    expect(amountOfMeter("1234567", "total_tokens", "en")).toBe("1,234,567");
  });

  it("shortens by the habits of each language", () => {
    expect(compactText(12_300, "en")).toBe("12.3K");
    expect(compactText(12_300, "zh-CN")).toBe("1.2万");
  });
});

describe("ratio", () => {
  it("is exact for amounts beyond 2^53 and rounds towards zero, so that a rung is never shown early", () => {
    expect(ratioBasisPoints(8_999_999_999_999_999_999n, 9_000_000_000_000_000_000n)).toBe(9_999);
    expect(ratioBasisPoints(9_000_000_000_000_000_000n, 9_000_000_000_000_000_000n)).toBe(10_000);
  });

  it("has no value where the whole is zero", () => {
    expect(ratioBasisPoints(5n, 0n)).toBeNull();
  });

  it("reads as a percentage", () => {
    expect(percentText(9130, "en")).toBe("91.3%");
  });
});
