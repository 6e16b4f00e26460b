import { describe, expect, it } from "vitest";
import type { BudgetView } from "@/lib/contracts/budgets";
import type { ProviderView } from "@/lib/contracts/models";
import { limitDraftOf, toLimitInput } from "./limit-draft";

const provider: ProviderView = {
  ...{ id: "prv_1", name: "Main account", kind: "openai", baseUrl: "https://a", isExternal: true, billingMode: "none" },
  ...{ secretChangedAtMs: null, secretHint: null, disabled: false, budgets: [] },
  deployments: [
    {
      ...{ id: "dep_1", modelId: "mod_1", modelName: "chat", providerId: "prv_1", upstreamModel: "up", weight: 1 },
      ...{ priority: 0, region: null, timeoutMs: 1000, connectTimeoutMs: null, firstByteTimeoutMs: null },
      ...{ idleTimeoutMs: null, disabled: false },
    },
  ],
};

const budget: BudgetView = {
  ...{ id: "bud_1", consumerId: null, apiKeyId: null, providerId: "prv_1", deploymentId: null, name: "Main account" },
  ...{ meter: "cost", periodKind: "day", limitAmount: "2500000000", overflowAmount: "0", enforcement: "enforce" },
  ...{ ladder: null, environment: null, models: [], classes: [], perEndUser: false, endUsers: null, frozen: false },
  ...{ version: "3", period: { id: "D2026-03-10", startMs: 0, endMs: 1 }, grantedAmount: "0", grants: [] },
  ...{ spentAmount: "1", heldAmount: "0", source: "live", usedBasisPoints: 0, rung: null, marks: [] },
};

describe("what may be spent at a provider", () => {
  it("is a plain limit of the account, or of the one deployment that was chosen", () => {
    const draft = { ...limitDraftOf(null), amount: "12.5" };
    expect(toLimitInput(draft, provider, null)).toMatchObject({
      ok: true,
      input: {
        providerId: "prv_1",
        limitAmount: "12500000000",
        periodKind: "month",
        ladder: null,
        name: "Main account",
      },
    });
    const ofOne = toLimitInput({ ...draft, deploymentId: "dep_1", periodKind: "day" }, provider, null);
    expect(ofOne).toMatchObject({ ok: true, input: { deploymentId: "dep_1", periodKind: "day" } });
    expect(ofOne.ok && "providerId" in ofOne.input && ofOne.input.providerId !== undefined).toBe(false);
  });

  it("is changed under the version that was seen", () => {
    expect(limitDraftOf(budget)).toEqual({ deploymentId: "", periodKind: "day", amount: "2.5" });
    expect(toLimitInput({ ...limitDraftOf(budget), amount: "3" }, provider, budget)).toEqual({
      ok: true,
      input: { limitAmount: "3000000000", periodKind: "day", expectedVersion: "3" },
    });
  });

  it("asks for an amount that can be read", () => {
    for (const amount of ["", "-1", "many", "1.5.2"]) {
      expect(toLimitInput({ ...limitDraftOf(null), amount }, provider, null)).toMatchObject({
        ok: false,
        errors: { limitAmount: expect.any(String) },
      });
    }
  });
});
