import { describe, expect, it } from "vitest";
import { deferredEndOf, deferredPauseMs, isDeferredId } from "./deferred-call";
import { newId } from "./ids";

describe("a deferred call", () => {
  it("waits longer after each try, never over a minute, so that a top-up is seen soon", () => {
    expect([1, 2, 3, 5, 6, 40].map((tries) => deferredPauseMs(tries))).toEqual([
      2_000, 4_000, 8_000, 32_000, 60_000, 60_000,
    ]);
  });

  it.each([
    [200, "done"],
    [402, "later"],
    [409, "later"],
    [429, "later"],
    [503, "later"],
    [500, "broken"],
    [504, "broken"],
    [400, "failed"],
    [401, "failed"],
    [422, "failed"],
  ] as const)("that is answered with %d is %s", (status, end) => {
    expect(deferredEndOf(status)).toBe(end);
  });

  it("is named by an id of ours only: a caller's text never becomes part of a key", () => {
    expect(isDeferredId(newId("dfr", 1_790_000_000_000))).toBe(true);
    for (const text of ["", "dfr_", "dfr_x:y", `${newId("dfr", 0)} `, newId("req", 0)]) {
      expect(isDeferredId(text)).toBe(false);
    }
  });
});
