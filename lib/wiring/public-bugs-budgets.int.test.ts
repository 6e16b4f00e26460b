/** The life of a budget. Each test names the public thread in which money leaked elsewhere. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { grantBudget, revokeGrant } from "@/lib/control/grants";
import { frozenClock } from "@/lib/domain/clock";
import type { TestOrganisation } from "@/lib/testing/factories";
import { testPrincipal } from "@/lib/testing/factories";
import type { BugRig } from "@/lib/testing/public-bugs";
import { startBugRig, statuses } from "@/lib/testing/public-bugs";

let rig: BugRig;
beforeAll(async () => {
  rig = await startBugRig();
});
afterAll(() => rig.bench.close());

describe("budget life cycle", () => {
  it("litellm#34896: a daily budget opens at the organisation's midnight, and a call belongs to the day that reserved it", async () => {
    const midnight = Date.parse("2026-06-01T16:00:00Z"); // 2 June, 00:00 in Shanghai
    const clock = frozenClock(midnight - 1000);
    const made = await rig.bench.organisation({ timeZone: "Asia/Shanghai", budget: { periodKind: "day" } });
    const gateway = await rig.bench.gateway({ clock, leaseMs: 3_600_000 });
    const call = rig.chat(made, { gateway, control: { latencyMs: 200 } });
    await expect.poll(async () => (await rig.counter(made)).held > 0n).toBe(true);
    clock.set(midnight + 1000);
    expect((await call).status).toBe(200);
    expect((await rig.chat(made, { gateway })).status).toBe(200);
    await expect.poll(async () => (await rig.counter(made)).held).toBe(0n);
    await rig.bench.book(made.organisationId);
    const entries = await rig.bench.ledger(made.organisationId);
    expect(entries.flatMap((entry) => entry.periods).sort()).toEqual(["D2026-06-01", "D2026-06-02"]);
  });

  describe("litellm#25760: a limit that changes under load", () => {
    let made: TestOrganisation;
    let isLoading = true;
    let load: Promise<void>;
    beforeEach(async () => {
      made = await rig.bench.organisation({ budgets: { organisation: 1_000_000n } });
      await rig.freeInput(made);
      isLoading = true;
      load = (async () => {
        while (isLoading) {
          const answers = await Promise.all(
            rig.gateways.map((gateway) =>
              rig.chat(made, { gateway, body: { max_tokens: 10 }, control: { completionTokens: 10 } }),
            ),
          );
          await Promise.all(answers.map((answer) => answer.text()));
        }
      })();
    });

    const probe = async () =>
      statuses(
        await Promise.all(
          rig.gateways.map((gateway) =>
            rig.chat(made, { gateway, body: { max_tokens: 10 }, control: { completionTokens: 0 } }),
          ),
        ),
      );

    it("is seen by every gateway within a second, up and down, without flip-flop", async () => {
      const budget = made.budgets.organisation;
      const ref = { organisationId: made.organisationId, budgetId: budget?.id ?? "" };
      await expect.poll(probe, { timeout: 20_000 }).toEqual({ 429: 3 });
      isLoading = false;
      await load;
      const { grant } = await grantBudget(rig.bench.control, testPrincipal, {
        ...ref,
        amount: "1000000000",
        reason: "approved",
        endsAtMs: null,
      });
      for (let round = 0; round < 5; round += 1) expect(await probe()).toEqual({ 200: 3 });
      await revokeGrant(rig.bench.control, testPrincipal, { ...ref, grantId: grant.id });
      for (let round = 0; round < 5; round += 1) expect(await probe()).toEqual({ 429: 3 });
    });
  });
});
