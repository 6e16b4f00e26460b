/** A call taken for later waits until money allows: Redis, Postgres and provider are real. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { updateBudget } from "@/lib/control/budgets";
import { pruneDeferred, takeOverDeferred } from "@/lib/control/deferred-calls";
import { setRateLimit } from "@/lib/control/rate-limits";
import type { PolicyDocument } from "@/lib/domain/policy";
import { keysOf } from "@/lib/redis/keys";
import type { DeferralRig, DeferralView } from "@/lib/testing/deferral-rig";
import { LATER, PROMPT, startDeferralRig, WAITS } from "@/lib/testing/deferral-rig";
import type { TestOrganisation } from "@/lib/testing/factories";
import { createTestKey, testPrincipal } from "@/lib/testing/factories";

let rig: DeferralRig;
beforeAll(async () => {
  rig = await startDeferralRig();
});
afterAll(() => rig.close());

describe("Prefer: respond-async", () => {
  it("is answered with an id, and the answer is there after the worker ran the call, once", async () => {
    const made = await rig.bench.organisation({ policy: WAITS });
    const response = await rig.call(made, LATER);
    expect(response.status).toBe(202);
    const { id } = (await response.json()) as DeferralView;
    expect(response.headers.get("location")).toBe(`/api/v1/deferred/${id}`);
    expect(response.headers.get("preference-applied")).toBe("respond-async");
    expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await rig.view(made, id)).toMatchObject({ status: "pending", code: null });
    expect(await rig.upstreamCalls(made)).toBe(0);

    await rig.work(made);
    await rig.work(made);
    const done = await rig.view(made, id);
    expect(done).toMatchObject({ status: "done", answer: { status: 200, body: { object: "chat.completion" } } });
    expect(await rig.upstreamCalls(made)).toBe(1);
    expect(await rig.entries(made)).toBe(1);
    expect((await rig.bench.ledger(made.organisationId))[0]?.requestId).toBe(done.answer?.request_id);
  });

  it("keeps a stream's events as text, and Anthropic's shape on its route", async () => {
    const made = await rig.bench.organisation({ policy: WAITS });
    const stream = await rig.take(made, { ...LATER, body: { stream: true } });
    await rig.work(made);
    const events = await rig.view(made, stream);
    expect(events.status).toBe("done");
    expect(String(events.answer?.body).trimEnd().endsWith("data: [DONE]")).toBe(true);
  });

  it("is ignored where the policy keeps no text", async () => {
    const made = await rig.bench.organisation({ policy: {} });
    expect((await rig.call(made, LATER)).status).toBe(200);
  });

  it("is told to the key's app only: to anybody else there is no such call", async () => {
    const made = await rig.bench.organisation({ policy: WAITS });
    const other = await rig.bench.organisation({ policy: WAITS });
    const id = await rig.take(made);
    const path = `deferred/${id}`;
    expect((await rig.call(made, { method: "GET", path, secret: other.apiKey.secret })).status).toBe(404);
    expect((await rig.call(made, { method: "DELETE", path, secret: other.apiKey.secret })).status).toBe(404);
    expect((await rig.call(made, { method: "GET", path: "deferred/dfr_nonsense" })).status).toBe(404);
    const { secret } = await createTestKey(rig.bench.control, made.organisationId, made.consumers.app);
    const status = async () => (await rig.call(made, { method: "GET", path, secret })).status;
    await expect.poll(status, { timeout: 5_000 }).toBe(200);
    await rig.work(made);
    expect(await status()).toBe(200);
  });

  it("is a request of its rates when it is taken, and none when it is run", async () => {
    const made = await rig.bench.organisation({ policy: WAITS });
    await setRateLimit(rig.bench.control, testPrincipal, {
      ...{ organisationId: made.organisationId, consumerId: made.consumers.app, apiKeyId: null },
      ...{ requestsPerMinute: 1, burstRequests: 2, tokensPerMinute: 1_000_000 },
    });
    const ids = [await rig.take(made), await rig.take(made)];
    const refused = await rig.call(made, LATER);
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(30);
    expect((await rig.call(made)).status).toBe(429);
    await rig.work(made);
    for (const id of ids) expect(await rig.view(made, id)).toMatchObject({ status: "done" });
  });

  it("of production is no call to the app's keys of the test environment, waiting or done", async () => {
    const made = await rig.bench.organisation({ policy: WAITS });
    const id = await rig.take(made);
    const test = { environment: "test" } as const;
    const { secret } = await createTestKey(rig.bench.control, made.organisationId, made.consumers.app, test);
    const statusOf = async (method: string, path: string) => (await rig.call(made, { method, path, secret })).status;
    await expect.poll(() => statusOf("GET", "models"), { timeout: 5_000 }).toBe(200);
    expect(await statusOf("GET", `deferred/${id}`)).toBe(404);
    expect(await statusOf("DELETE", `deferred/${id}`)).toBe(404);
    await rig.work(made);
    expect(await rig.view(made, id)).toMatchObject({ status: "done" });
    expect(await statusOf("GET", `deferred/${id}`)).toBe(404);
  });

  it("leaves no text of the call readable in Redis or Postgres, and drops it when its time is over", async () => {
    const made = await rig.bench.organisation({ policy: WAITS });
    const id = await rig.take(made);
    const entry = await rig.bench.store.redis.xrange(keysOf(made.organisationId).deferrals, "-", "+");
    expect(Buffer.from(entry[0]?.[1][3] ?? "", "base64").toString("latin1")).not.toContain(PROMPT);
    await rig.work(made);
    const read = async () =>
      (
        await rig.bench.control.db.pool.query<{ request_box: Buffer; answer_box: Buffer }>(
          "SELECT request_box, answer_box FROM deferred_calls WHERE id = $1",
          [id],
        )
      ).rows;
    const [row] = await read();
    expect(row?.request_box.toString("latin1")).not.toContain(PROMPT);
    expect(row?.answer_box.toString("latin1")).not.toContain("chat.completion");
    await pruneDeferred(rig.deps);
    expect(await read()).toHaveLength(1);
    rig.later(601_000);
    await pruneDeferred(rig.deps);
    expect(await read()).toHaveLength(0);
  });
});

describe("a rung that defers", () => {
  const DEFERS: PolicyDocument = {
    ...WAITS,
    ladders: {
      strict: {
        rungs: [{ atBasisPoints: 3_000, name: "protect", actions: { "*": { kind: "defer" } } }],
        overflow: "none",
      },
    },
  };

  /** So much of the budget is used up that the rung holds: 39 %. */
  async function partlySpent(policy: PolicyDocument): Promise<TestOrganisation> {
    const made = await rig.bench.organisation({
      policy,
      budgets: { organisation: 100_000n },
      budget: { ladder: "strict" },
      key: { trafficClass: "offline" },
    });
    const used = { promptTokens: 20, completionTokens: 60 };
    expect((await rig.call(made, { control: used })).status).toBe(200);
    return made;
  }

  async function topUp(made: TestOrganisation): Promise<void> {
    const budgetId = made.budgets.organisation?.id ?? "";
    const ref = { organisationId: made.organisationId, budgetId };
    await updateBudget(rig.bench.control, testPrincipal, { ...ref, expectedVersion: "1", limitAmount: "100000000000" });
  }

  it("takes the call, tries it while there is no money without reaching anybody, and runs it after a top-up", async () => {
    const made = await partlySpent(DEFERS);
    await rig.entries(made);
    const id = await rig.take(made, {});
    const before = await rig.upstreamCalls(made);
    await rig.work(made);
    expect(await rig.view(made, id)).toMatchObject({ status: "pending" });
    expect(await rig.upstreamCalls(made)).toBe(before);
    await topUp(made);
    rig.later(120_000);
    await rig.work(made);
    expect(await rig.view(made, id)).toMatchObject({ status: "done", answer: { status: 200 } });
    expect(await rig.upstreamCalls(made)).toBe(before + 1);
  });

  it("refuses where the policy keeps no text", async () => {
    const { deferral: _deferral, ...silent } = DEFERS;
    const made = await partlySpent(silent);
    await rig.entries(made);
    expect((await rig.call(made)).status).toBe(429);
  });

  it("lets the call expire at its deadline", async () => {
    const made = await partlySpent({ ...DEFERS, deferral: { deadlineSeconds: 60, keepSeconds: 600 } });
    await rig.entries(made);
    const id = await rig.take(made, {});
    await rig.work(made);
    rig.later(61_000);
    await rig.work(made);
    expect(await rig.view(made, id)).toMatchObject({ status: "expired", code: "deadline_passed" });
    await topUp(made);
    rig.later(120_000);
    await rig.work(made);
    expect(await rig.view(made, id)).toMatchObject({ status: "expired" });
  });
});

describe("a deferred call that is cancelled", () => {
  it("is not run, whether the worker had it already or not", async () => {
    const made = await rig.bench.organisation({ policy: WAITS });
    const early = await rig.take(made);
    const late = await rig.take(made);
    const cancelled = await rig.call(made, { method: "DELETE", path: `deferred/${early}` });
    expect(await cancelled.json()).toMatchObject({ status: "cancelled" });
    await takeOverDeferred(rig.deps, made.organisationId);
    expect((await rig.call(made, { path: `deferred/${late}/cancel` })).status).toBe(200);
    await rig.work(made);
    expect(await rig.view(made, early)).toMatchObject({ status: "cancelled" });
    expect(await rig.view(made, late)).toMatchObject({ status: "cancelled" });
    expect(await rig.upstreamCalls(made)).toBe(0);
  });

  it("stays what it is once it has ended, and cannot be cancelled while it runs", async () => {
    const made = await rig.bench.organisation({ policy: WAITS });
    const id = await rig.take(made, { ...LATER, control: { latencyMs: 600 } });
    const running = rig.work(made);
    await expect.poll(() => rig.upstreamCalls(made)).toBe(1);
    expect((await rig.call(made, { method: "DELETE", path: `deferred/${id}` })).status).toBe(409);
    await running;
    const after = await rig.call(made, { method: "DELETE", path: `deferred/${id}` });
    expect(await after.json()).toMatchObject({ status: "done" });
  });
});
