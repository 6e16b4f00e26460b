import { describe, expect, it } from "vitest";
import { MONTHLY_DEPARTMENT } from "./ladder-templates";
import { mergePolicies } from "./policy";
import { replay } from "./policy-replay";

const policy = mergePolicies([{ ladders: { monthly: MONTHLY_DEPARTMENT }, downgrade: { large: "small" } }]);
const call = { model: "large", trafficClass: "general", ladder: "monthly", ratioBasisPoints: 9_100 };

describe("a call of the past under a policy", () => {
  it("gets what the rung at its budget's fullness gives its class", () => {
    expect(replay(policy, { ...call, ratioBasisPoints: 8_999 })).toEqual({ kind: "pass", model: "large" });
    expect(replay(policy, call)).toEqual({ kind: "downgrade", model: "small" });
    expect(replay(policy, { ...call, trafficClass: "core" })).toEqual({ kind: "pass", model: "large" });
    expect(replay(policy, { ...call, ratioBasisPoints: 9_900 })).toEqual({ kind: "protect", model: null });
  });

  it("passes where no ladder had a say, or the policy has none of that name", () => {
    expect(replay(policy, { ...call, ladder: null })).toEqual({ kind: "pass", model: "large" });
    expect(replay(policy, { ...call, ladder: "gone" })).toEqual({ kind: "pass", model: "large" });
  });

  it("is stopped where its model is not allowed, and kept where the cheaper one is not", () => {
    const denied = (model: string) =>
      mergePolicies([{ ladders: policy.ladders, downgrade: policy.downgrade, models: { deny: [model] } }]);
    expect(replay(denied("large"), call)).toEqual({ kind: "not_allowed", model: null });
    expect(replay(denied("small"), call)).toEqual({ kind: "pass", model: "large" });
  });
});
