import { describe, expect, it } from "vitest";
import { DAILY_RED_LINE, MONTHLY_DEPARTMENT } from "@/lib/domain/ladder-templates";
import type { PolicyDocument } from "@/lib/domain/policy";
import { findingsOf, stagesOf } from "./ladder-preview";

const document: PolicyDocument = {
  ladders: { monthly: MONTHLY_DEPARTMENT, daily: DAILY_RED_LINE },
  downgrade: { large: "small" },
};
const call = { model: "large", trafficClass: "general", isVip: false, models: ["large", "small"] };
const said = (stages: ReturnType<typeof stagesOf>) =>
  stages.map(
    ({ fromBasisPoints, kind, model }) => `${String(fromBasisPoints)} ${kind}${model === null ? "" : ` ${model}`}`,
  );

describe("the preview of a ladder", () => {
  it("says what each class gets at each mark, as the table of the design has it", () => {
    const of = (trafficClass: string) => said(stagesOf(document, "monthly", { ...call, trafficClass }));
    expect(of("core")).toEqual(["0 pass large", "9800 downgrade small", "10000 overflow small"]);
    expect(of("general")).toEqual(["0 pass large", "9000 downgrade small", "9800 protect", "10000 overflow small"]);
    expect(of("marketing")).toEqual(["0 pass large", "9000 downgrade small", "9800 static"]);
    expect(of("offline")).toEqual(["0 pass large", "9000 downgrade small", "9800 defer", "10000 overflow small"]);
  });

  it("keeps the overflow for those who may use it", () => {
    const of = (isVip: boolean) => said(stagesOf(document, "daily", { ...call, trafficClass: "core", isVip })).at(-1);
    expect([of(false), of(true)]).toEqual(["10000 refuse", "10000 overflow small"]);
  });

  it("refuses at the limit what no rung refuses, since nothing is let through past it", () => {
    const open: PolicyDocument = {
      ladders: {
        open: { rungs: [{ atBasisPoints: 5000, name: "half", actions: { "*": { kind: "pass" } } }], overflow: "none" },
      },
    };
    expect(said(stagesOf(open, "open", call))).toEqual(["0 pass large", "10000 refuse"]);
  });

  it("serves the asked model where a downgrade names none that can serve", () => {
    expect(said(stagesOf({ ...document, downgrade: {} }, "monthly", { ...call, trafficClass: "core" }))).toEqual([
      "0 pass large",
      "10000 overflow large",
    ]);
  });
});

describe("findings on a ladder", () => {
  const classes = ["core", "general"];
  it("are none of the shipped ones, once what they need is there", () => {
    expect(
      findingsOf({ ...document, deferral: { deadlineSeconds: 60, keepSeconds: 60 } }, "monthly", call, classes),
    ).toEqual([]);
  });

  it("name a rung that lets more through than the one below", () => {
    const [normal, , downgrade] = MONTHLY_DEPARTMENT.rungs;
    if (normal === undefined || downgrade === undefined) throw new Error("the template has them");
    const rungs = [
      { ...downgrade, atBasisPoints: 0 },
      { ...normal, atBasisPoints: 9000 },
    ];
    const found = findingsOf({ ...document, ladders: { odd: { rungs, overflow: "none" } } }, "odd", call, classes);
    expect(found).toEqual([{ kind: "milder", trafficClass: "general", atBasisPoints: 9000 }]);
  });

  it("name a downgrade without a cheaper model, and a deferral that is not kept", () => {
    const found = findingsOf({ ...document, downgrade: {} }, "monthly", call, [...classes, "offline"]);
    expect(found.map((one) => one.kind)).toEqual(["downgrade_unmapped", "defer_unkept"]);
  });
});
