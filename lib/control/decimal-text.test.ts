import { expect, test } from "vitest";
import { compareDecimals, shiftDecimal } from "./decimal-text";

test.each([
  ["2.50", -6, "0.0000025"],
  ["10", -6, "0.00001"],
  ["0.075", -6, "0.000000075"],
  ["0.0000025", 2, "0.00025"],
  ["0.00025", 6, "250"],
  ["1234567", -6, "1.234567"],
  ["0", -6, "0"],
  ["0.5", 0, "0.5"],
])("%s x 10^%i is exactly %s", (text, places, expected) => {
  expect(shiftDecimal(text, places)).toBe(expected);
});

test("comparison looks at value, not at digits", () => {
  expect(compareDecimals("0.10", "0.1")).toBe(0);
  expect(compareDecimals("9", "10")).toBe(-1);
  expect(compareDecimals("0.000000000000000002", "0.000000000000000001")).toBe(1);
});
