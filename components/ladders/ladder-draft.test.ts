import { describe, expect, it } from "vitest";
import { LADDER_TEMPLATES, MONTHLY_DEPARTMENT } from "@/lib/domain/ladder-templates";
import { addedLadder, addedRung, basisPointsOf, laddersOf, toLadders } from "./ladder-draft";
import type { LadderDraft } from "./ladder-draft";

function draft(): LadderDraft {
  const [first] = laddersOf({ ladders: { monthly: MONTHLY_DEPARTMENT } });
  if (first === undefined) throw new Error("the document has a ladder");
  return first;
}

/** The ladder with another text at this rung. */
function withAt(ladder: LadderDraft, index: number, at: string): LadderDraft {
  return { ...ladder, rungs: ladder.rungs.map((rung, place) => (place === index ? { ...rung, at } : rung)) };
}

describe("the ladder form", () => {
  it("gives back every ladder it was opened with", () => {
    expect(toLadders(laddersOf({ ladders: LADDER_TEMPLATES }))).toEqual({ ladders: LADDER_TEMPLATES, errors: {} });
  });

  it("reads percent as people write them, and nothing else", () => {
    expect(["90", "97.5", "97,5", "0", "99.99 %"].map(basisPointsOf)).toEqual([9000, 9750, 9750, 0, 9999]);
    expect(["", "half", "-1", "9.999", "1e2"].map(basisPointsOf)).toEqual(Array(5).fill(undefined));
  });

  it("names the rung that does not rise, by the contract's own rule", () => {
    const { errors, ladders } = toLadders([withAt(draft(), 2, "70")]);
    expect(errors).toEqual({ "ladders/monthly/rungs.2.atBasisPoints": "rungs_not_rising" });
    expect(ladders).toEqual({});
  });

  it.each([
    ["0,5%,", "number_malformed"],
    ["1001", "number_out_of_range"],
  ])("a mark of %s is %s", (at, code) => {
    expect(Object.values(toLadders([withAt(draft(), 4, at)]).errors)).toEqual([code]);
  });

  it("leaves a class to the others where it says nothing of it", () => {
    const [first] = laddersOf({ ladders: { monthly: MONTHLY_DEPARTMENT } });
    const rungs = (first?.rungs ?? []).map((rung) => ({
      ...rung,
      actions: { ...rung.actions, core: { kind: "" as const, cacheThreshold: "", retryAfterSeconds: "" } },
    }));
    const { ladders } = toLadders([{ ...draft(), rungs }]);
    expect(ladders["monthly"]?.rungs[2]?.actions).toEqual({ "*": { kind: "downgrade" } });
  });

  it("puts a new rung half-way to the next, so that it is right at once", () => {
    const added = addedRung(draft(), 2);
    expect(added.rungs.map((rung) => rung.at)).toEqual(["0", "75", "90", "94", "98", "100"]);
    expect(new Set(added.rungs.map((rung) => rung.key)).size).toBe(6);
    expect(toLadders([added]).errors).toEqual({ "ladders/monthly/rungs.3.name": "required" });
    expect(addedRung(draft(), 4).rungs.at(-1)?.at).toBe("101");
  });

  it("gives a second ladder of a template a name of its own", () => {
    const twice = addedLadder([draft()], "monthly", MONTHLY_DEPARTMENT);
    expect(twice.map((one) => one.name)).toEqual(["monthly", "monthly-2"]);
    expect(Object.keys(toLadders(twice).ladders)).toEqual(["monthly", "monthly-2"]);
  });
});
