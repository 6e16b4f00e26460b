/** A call taken for later is sent once, by whichever worker is alive: Redis, Postgres and provider are real. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { DeferredDeps } from "@/lib/control/deferred-calls";
import { takeOverDeferred } from "@/lib/control/deferred-calls";
import { keysOf } from "@/lib/redis/keys";
import type { DeferralRig } from "@/lib/testing/deferral-rig";
import { LATER, startDeferralRig, WAITS } from "@/lib/testing/deferral-rig";

let rig: DeferralRig;
beforeAll(async () => {
  rig = await startDeferralRig();
});
afterAll(() => rig.close());

describe("workers that come and go", () => {
  it("run each call once, however many of them there are", async () => {
    const made = await rig.bench.organisation({ policy: WAITS });
    const ids = await Promise.all(Array.from({ length: 20 }, () => rig.take(made)));
    await Promise.all([rig.work(made), rig.work(made), rig.work(made)]);
    await rig.work(made);
    for (const id of ids) expect(await rig.view(made, id)).toMatchObject({ status: "done" });
    expect(await rig.upstreamCalls(made)).toBe(20);
    expect(await rig.entries(made)).toBe(20);
  });

  it("do not pay again for an answer that a worker had when it died", async () => {
    const made = await rig.bench.organisation({ policy: WAITS });
    const id = await rig.take(made);
    const dying: DeferredDeps = {
      ...rig.deps,
      run: async (order) => {
        await rig.deps.run(order);
        throw new Error("killed before it could write anything down");
      },
    };
    await rig.work(made, dying);
    expect(await rig.view(made, id)).toMatchObject({ status: "running" });
    await rig.work(made);
    expect(await rig.view(made, id)).toMatchObject({ status: "running" });
    rig.later(61_000);
    await rig.work(made);
    expect(await rig.view(made, id)).toMatchObject({ status: "done", answer: { status: 200 } });
    expect(await rig.upstreamCalls(made)).toBe(1);
    expect(await rig.entries(made)).toBe(1);
  });

  it("send nothing again whose end nobody saw, and try again what was provably not served", async () => {
    const made = await rig.bench.organisation({ policy: WAITS });
    const lost = await rig.take(made, { ...LATER, control: { status: 504 } });
    await rig.work(made);
    expect(await rig.view(made, lost)).toMatchObject({ status: "failed", code: "upstream_timeout" });
    expect(await rig.upstreamCalls(made)).toBe(1);
    const busy = await rig.take(made, { ...LATER, control: { status: 503 } });
    await rig.work(made);
    expect(await rig.view(made, busy)).toMatchObject({ status: "pending" });
    const before = await rig.upstreamCalls(made);
    rig.later(61_000);
    await rig.work(made);
    expect(await rig.upstreamCalls(made)).toBeGreaterThan(before);
  });

  it("send nothing where another worker has the call by now", async () => {
    const made = await rig.bench.organisation({ policy: WAITS });
    await rig.take(made);
    const paused: DeferredDeps = {
      ...rig.deps,
      run: async (order) => {
        await rig.bench.control.db.pool.query("UPDATE deferred_calls SET tries = tries + 1 WHERE id = $1", [order.id]);
        return rig.deps.run(order);
      },
    };
    await rig.work(made, paused);
    expect(await rig.upstreamCalls(made)).toBe(0);
    expect(await rig.entries(made)).toBe(0);
  });

  it("tell gateways of a call that Redis has lost", async () => {
    const made = await rig.bench.organisation({ policy: WAITS });
    const id = await rig.take(made);
    await takeOverDeferred(rig.deps, made.organisationId);
    await rig.bench.store.redis.del(keysOf(made.organisationId).deferred(id));
    await rig.work(made);
    expect(await rig.view(made, id)).toMatchObject({ status: "done" });
  });

  it("give a call up that the provider finds wrong, and say why", async () => {
    const made = await rig.bench.organisation({ policy: WAITS });
    const control = { status: 400, errorCode: "context_length_exceeded" };
    const id = await rig.take(made, { ...LATER, control });
    await rig.work(made);
    expect(await rig.view(made, id)).toMatchObject({
      status: "failed",
      code: "context_length_exceeded",
      answer: { status: 400 },
    });
  });
});
