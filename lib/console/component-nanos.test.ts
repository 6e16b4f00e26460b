import { expect, it } from "vitest";
import { componentNanos } from "./request-detail";

it.each([
  [1234, "0.00000015", undefined, "185100"],
  [1, "0.0000000381469", undefined, "38.1469"],
  [93.457, "0.0001", undefined, "9345700"],
  [4000, "0.000005", "1.1", "22000000"],
  [1, "1e-6", undefined, undefined],
])("%s pieces at %s, times %s, are %s nanos", (quantity, rate, multiplier, nanos) => {
  expect(componentNanos(quantity, rate, multiplier)).toBe(nanos);
});
