import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  assertAmount,
  convertNanos,
  formatNanos,
  MAX_AMOUNT,
  MoneyError,
  type MoneyErrorCode,
  mulDivCeil,
  mulDivHalfEven,
  nanosFromInteger,
  nanosToDecimal,
  parseDecimalToNanos,
} from "./money";

const amounts = fc.bigInt({ min: -MAX_AMOUNT, max: MAX_AMOUNT });
const small = fc.bigInt({ min: -(10n ** 12n), max: 10n ** 12n });
const divisors = fc.bigInt({ min: 1n, max: 10n ** 12n });

function codeOf(run: () => unknown): MoneyErrorCode | "no error" {
  try {
    run();
    return "no error";
  } catch (error) {
    expect(error).toBeInstanceOf(RangeError);
    if (!(error instanceof MoneyError)) throw error;
    return error.code;
  }
}

describe("parseDecimalToNanos", () => {
  it.each([
    ["0", 0n],
    ["1", 1_000_000_000n],
    ["2.50", 2_500_000_000n],
    ["+0.000000001", 1n],
    ["0.00000012", 120n],
    ["000.5", 500_000_000n],
    ["9223372036.854775807", MAX_AMOUNT],
  ])("reads %s exactly", (text, nanos) => {
    expect(parseDecimalToNanos(text, "halfEven")).toBe(nanos);
    expect(parseDecimalToNanos(text, "up")).toBe(nanos);
  });

  it("rounds the digits beyond the ninth as asked", () => {
    expect(parseDecimalToNanos("0.0000000005", "halfEven")).toBe(0n);
    expect(parseDecimalToNanos("0.0000000015", "halfEven")).toBe(2n);
    expect(parseDecimalToNanos("0.0000000025", "halfEven")).toBe(2n);
    expect(parseDecimalToNanos("0.00000000250000001", "halfEven")).toBe(3n);
    expect(parseDecimalToNanos("0.0000000000001", "up")).toBe(1n);
    expect(parseDecimalToNanos("-0.0000000019", "up", { allowNegative: true })).toBe(-1n);
  });

  it.each([
    "",
    " ",
    "NaN",
    "Infinity",
    "-Infinity",
    "1e309",
    "1E3",
    "0x10",
    "1,000",
    "1_000",
    ".5",
    "5.",
    "--1",
    "1.2.3",
  ])("refuses %j as malformed", (text) => {
    expect(codeOf(() => parseDecimalToNanos(text, "up"))).toBe("malformed");
  });

  it("refuses surrounding blanks, full-width digits and very long text", () => {
    for (const text of [" 1", "1\n", "\uff11", "9".repeat(65), `0.${"0".repeat(1_000_000)}1`]) {
      expect(codeOf(() => parseDecimalToNanos(text, "up"))).toBe("malformed");
    }
  });

  it("refuses a value that is not text at run time", () => {
    for (const value of [10, Number.NaN, Number.POSITIVE_INFINITY, null, undefined, {}]) {
      expect(codeOf(() => parseDecimalToNanos(value as string, "up"))).toBe("malformed");
    }
  });

  it("refuses a negative amount unless it is allowed, however small", () => {
    expect(codeOf(() => parseDecimalToNanos("-0.00000000001", "up"))).toBe("negative");
    expect(parseDecimalToNanos("-1.5", "halfEven", { allowNegative: true })).toBe(-1_500_000_000n);
    expect(parseDecimalToNanos("-0", "halfEven")).toBe(0n);
  });

  it("refuses what a 64-bit counter cannot hold", () => {
    expect(codeOf(() => parseDecimalToNanos("9223372036.854775808", "up"))).toBe("out_of_range");
    expect(codeOf(() => parseDecimalToNanos("9".repeat(64), "up"))).toBe("out_of_range");
  });
});

describe("nanosToDecimal", () => {
  it("prints without trailing zeros", () => {
    expect(nanosToDecimal(120n)).toBe("0.00000012");
    expect(nanosToDecimal(-1_500_000_000n)).toBe("-1.5");
    expect(nanosToDecimal(0n)).toBe("0");
  });

  it("is undone exactly by parsing", () => {
    fc.assert(
      fc.property(amounts, (nanos) => {
        expect(parseDecimalToNanos(nanosToDecimal(nanos), "halfEven", { allowNegative: true })).toBe(nanos);
      }),
    );
  });
});

describe("nanosFromInteger", () => {
  it("reads what Redis and JSON carry", () => {
    expect(nanosFromInteger("9223372036854775807")).toBe(MAX_AMOUNT);
    expect(nanosFromInteger("-12")).toBe(-12n);
    expect(nanosFromInteger(7)).toBe(7n);
    expect(nanosFromInteger(7n)).toBe(7n);
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, 1.5, 2 ** 53, "", "1.0", "012", "1e3", "+1", "-", " 1"])(
    "refuses %j as malformed",
    (value) => {
      expect(codeOf(() => nanosFromInteger(value))).toBe("malformed");
    },
  );

  it("refuses numbers out of range and, where asked, negative ones", () => {
    expect(codeOf(() => nanosFromInteger("9223372036854775808"))).toBe("out_of_range");
    expect(codeOf(() => nanosFromInteger(-1, { allowNegative: false }))).toBe("negative");
    expect(codeOf(() => assertAmount(-MAX_AMOUNT - 1n))).toBe("out_of_range");
  });
});

describe("mulDiv", () => {
  it("is within half of the exact quotient, and even on a tie", () => {
    fc.assert(
      fc.property(small, small, divisors, fc.boolean(), (a, b, positive, flip) => {
        fc.pre(a * b < MAX_AMOUNT && a * b > -MAX_AMOUNT);
        const c = flip ? -positive : positive;
        const result = mulDivHalfEven(a, b, c);
        const twiceError = 2n * (flip ? -(a * b) - result * positive : a * b - result * positive);
        expect(twiceError <= positive && twiceError >= -positive).toBe(true);
        if (twiceError === positive || twiceError === -positive) expect(result % 2n).toBe(0n);
      }),
    );
  });

  it("rounds up to the smallest integer that is not below the exact quotient", () => {
    fc.assert(
      fc.property(small, fc.bigInt({ min: -1000n, max: 1000n }), divisors, (a, b, c) => {
        const result = mulDivCeil(a, b, c);
        expect(result * c >= a * b).toBe(true);
        expect((result - 1n) * c < a * b).toBe(true);
      }),
    );
  });

  it("keeps public bills to the nano", () => {
    // bifrost#904: 51,232 plain and 1,188,096 cached input tokens, 12,909 output tokens at 1.25 / 0.125 / 10 USD per 1M.
    const perMillion = [1_250_000_000n, 125_000_000n, 10_000_000_000n] as const;
    const exact = 51_232n * perMillion[0] + 1_188_096n * perMillion[1] + 12_909n * perMillion[2];
    expect(nanosToDecimal(mulDivHalfEven(exact, 1n, 1_000_000n))).toBe("0.341642");
    // litellm#36646: 6 embedding tokens at 0.02 USD per 1M are not zero.
    expect(mulDivHalfEven(6n, parseDecimalToNanos("0.02", "halfEven"), 1_000_000n)).toBe(120n);
  });

  it("refuses division by zero and results out of range", () => {
    expect(codeOf(() => mulDivHalfEven(1n, 1n, 0n))).toBe("division_by_zero");
    expect(codeOf(() => mulDivCeil(MAX_AMOUNT, 2n, 1n))).toBe("out_of_range");
  });
});

describe("convertNanos", () => {
  it("agrees for a fraction and the same rate as text", () => {
    fc.assert(
      fc.property(small, fc.integer({ min: 1, max: 10_000_000 }), fc.constantFrom("up", "halfEven"), (n, r, how) => {
        const text = `${Math.floor(r / 10_000)}.${String(r % 10_000).padStart(4, "0")}`;
        const fraction = { numerator: BigInt(r), denominator: 10_000n };
        expect(convertNanos(n, text, how)).toBe(convertNanos(n, fraction, how));
      }),
    );
    expect(convertNanos(1_000_000_000n, "7.1234", "halfEven")).toBe(7_123_400_000n);
  });

  it.each(["0", "0.000", "-1", "NaN", "1e2", ""])("refuses the rate %j", (rate) => {
    expect(codeOf(() => convertNanos(1n, rate, "up"))).toBe("invalid_rate");
  });

  it("refuses a fraction that is not positive and a result out of range", () => {
    expect(codeOf(() => convertNanos(1n, { numerator: 1n, denominator: 0n }, "up"))).toBe("invalid_rate");
    expect(codeOf(() => convertNanos(MAX_AMOUNT, "2", "up"))).toBe("out_of_range");
  });
});

describe("formatNanos", () => {
  it("never shows an amount as zero by default", () => {
    fc.assert(
      fc.property(amounts, (nanos) => {
        fc.pre(nanos !== 0n);
        expect(/[1-9]/.test(formatNanos(nanos))).toBe(true);
      }),
    );
    expect(formatNanos(120n, { currency: "USD" })).toBe("$0.00000012");
    expect(formatNanos(1_234_500_000_000n, { currency: "USD" })).toBe("$1,234.50");
    expect(formatNanos(MAX_AMOUNT, { digits: 9 })).toBe("9,223,372,036.854775807");
  });

  it("rounds half to even at the digits asked for", () => {
    expect(formatNanos(125_000_000n, { digits: 2 })).toBe("0.12");
    expect(formatNanos(135_000_000n, { digits: 2 })).toBe("0.14");
    expect(formatNanos(-2_500_000_000n, { digits: 0 })).toBe("-2");
    expect(codeOf(() => formatNanos(1n, { digits: 10 }))).toBe("out_of_range");
  });

  it("follows the locale", () => {
    expect(formatNanos(1_500_000_000n, { currency: "CNY", locale: "zh-CN" })).toBe("¥1.50");
  });
});
