import fc from "fast-check";
import { expect, it } from "vitest";
import { decimalText, scaleRate, shiftDecimal } from "./decimal";

it.each([
  ["2.5", -6, "0.0000025"],
  ["0.02", -6, "0.00000002"],
  ["10", 0, "10"],
  ["0.10", 0, "0.1"],
  ["10000", -6, "0.01"],
  ["0.0000025", 6, "2.5"],
  ["0", -6, "0"],
  ["1.50", 2, "150"],
])("%s by %i places is %s", (text, places, right) => {
  expect(shiftDecimal(text, places)).toBe(right);
});

it("brings a rate back as it was, without its trailing zeros", () => {
  fc.assert(
    fc.property(fc.nat(999_999), fc.nat(999_999_999), (whole, fraction) => {
      const text = decimalText(BigInt(whole) * 10n ** 9n + BigInt(fraction), 9);
      expect(decimalText(scaleRate(text), 27)).toBe(text);
    }),
  );
});
