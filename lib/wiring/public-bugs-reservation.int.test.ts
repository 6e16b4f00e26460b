/** Concurrency and reservation. Each test names the public thread in which money leaked elsewhere. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createBudget } from "@/lib/control/budgets";
import { sweepReservations } from "@/lib/control/sweep";
import { keysOf } from "@/lib/redis/keys";
import { testPrincipal } from "@/lib/testing/factories";
import type { BugRig } from "@/lib/testing/public-bugs";
import { startBugRig, statuses } from "@/lib/testing/public-bugs";

let rig: BugRig;
beforeAll(async () => {
  rig = await startBugRig();
});
afterAll(() => rig.bench.close());

describe("concurrency and reservation", () => {
  it("new-api#5690: parallel calls on two rig.gateways admit exactly what fits", async () => {
    const made = await rig.bench.organisation({ budgets: { organisation: 10n ** 12n, app: 100_000_000n } });
    await rig.freeInput(made);
    const pair = rig.gateways.slice(0, 2);
    const calls = Array.from({ length: 50 }, (_, index) => {
      const gateway = pair[index % 2];
      return rig.chat(made, {
        body: { max_tokens: 1000 },
        control: { completionTokens: 1000, latencyMs: 500 },
        ...(gateway ? { gateway } : {}),
      });
    });
    expect(statuses(await Promise.all(calls))).toEqual({ 200: 10, 429: 40 });
    await expect.poll(() => rig.counter(made, "app")).toEqual({ settled: 100_000_000n, held: 0n });
  });

  it("litellm#34732: the smallest scope is as hard as the largest", async () => {
    const made = await rig.bench.organisation();
    await createBudget(rig.bench.control, testPrincipal, {
      organisationId: made.organisationId,
      consumerId: null,
      apiKeyId: made.apiKey.id,
      name: "one call",
      meter: "requests",
      periodKind: "day",
      limitAmount: "1",
      overflowAmount: "0",
      enforcement: "enforce",
      ladder: null,
      environment: null,
      models: [],
      classes: [],
    });
    const two = await Promise.all([
      rig.chat(made, { control: { latencyMs: 100 } }),
      rig.chat(made, { control: { latencyMs: 100 } }),
    ]);
    expect(statuses(two)).toEqual({ 200: 1, 429: 1 });
    const refused = two.find((response) => response.status === 429);
    expect(((await refused?.json()) as { error: { code: string } }).error.code).toBe("KEY_QUOTA_EXHAUSTED");
  });

  it("bifrost#3547: three rig.gateways share one limit", async () => {
    const made = await rig.bench.organisation({ budgets: { organisation: 100_000_000n } });
    await rig.freeInput(made);
    const calls = Array.from({ length: 300 }, () =>
      rig.chat(made, { body: { max_tokens: 1000 }, control: { completionTokens: 1000, latencyMs: 50 } }),
    );
    expect(statuses(await Promise.all(calls))).toEqual({ 200: 10, 429: 290 });
    await expect.poll(() => rig.counter(made)).toEqual({ settled: 100_000_000n, held: 0n });
  });

  it("litellm#27639: nothing stays held, whatever way 200 calls end", async () => {
    const made = await rig.bench.organisation();
    const endings: (() => Promise<unknown>)[] = [
      () => rig.chat(made),
      () => rig.chat(made, { control: { status: 400 } }),
      () => rig.chat(made, { control: { status: 401 } }),
      () => rig.chat(made, { control: { status: 500 } }),
      () => rig.chat(made, { control: { fault: "close_socket" } }),
      () => rig.chat(made, { control: { fault: "half_json" } }),
      () => rig.chat(made, { control: { fault: "no_usage" } }),
      () =>
        rig
          .chat(made, { control: { fault: "cut_stream" }, body: { stream: true } })
          .then((response) => response.text()),
      async () => {
        const abort = new AbortController();
        const call = rig.chat(made, { control: { latencyMs: 300 }, body: { stream: true }, signal: abort.signal });
        abort.abort();
        await call.then((response) => response.text()).catch(() => undefined);
      },
      async () => {
        const response = await rig.chat(made, {
          control: { completionTokens: 50, chunkDelayMs: 5 },
          body: { stream: true },
        });
        const reader = response.body?.getReader();
        await reader?.read();
        await reader?.cancel();
      },
    ];
    await Promise.all(Array.from({ length: 200 }, async (_, index) => endings[index % endings.length]?.()));
    await expect.poll(async () => (await rig.counter(made)).held).toBe(0n);
    const open = await rig.bench.store.redis.zcard(keysOf(made.organisationId).deadlines);
    expect(open).toBe(0);
  });

  it.each(["half_json", "wrong_gzip", "close_socket"])(
    "new-api#4429: a hold of a call that blows up (%s) ends, and the bill has the last word",
    async (fault) => {
      const made = await rig.bench.organisation();
      await rig.chat(made, { control: { fault } }).then((response) => response.text());
      await expect.poll(async () => (await rig.counter(made)).held).toBe(0n);
      await rig.bench.book(made.organisationId);
      const [entry] = await rig.bench.ledger(made.organisationId);
      expect(entry).toMatchObject({ isEstimated: true });
      expect((await rig.counter(made)).settled).toBe(entry?.amount);
    },
  );

  it("new-api PR#4443: what a killed gateway held is released once, by the sweeper", async () => {
    const made = await rig.bench.organisation();
    const doomed = await rig.bench.gateway({ leaseMs: 200 });
    void rig.chat(made, { gateway: doomed, control: { fault: "hang" } }).catch(() => undefined);
    await expect.poll(async () => (await rig.counter(made)).held > 0n).toBe(true);
    const { held } = await rig.counter(made);
    // From here on the process is dead to Redis: no renewal, no settlement.
    doomed.connection.redis.disconnect();
    await expect.poll(() => sweepReservations(rig.bench.books, made.organisationId), { timeout: 5000 }).toBe(1);
    expect(await sweepReservations(rig.bench.books, made.organisationId)).toBe(0);
    expect(await rig.counter(made)).toEqual({ settled: held, held: 0n });
    await rig.bench.book(made.organisationId);
    expect(await rig.bench.ledger(made.organisationId)).toMatchObject([
      { kind: "usage", isEstimated: true, amount: held },
    ]);
  });

  it("new-api#5556: a refund that is delivered again and again is one refund", async () => {
    const made = await rig.bench.organisation();
    const gateway = await rig.bench.gateway();
    const before = await rig.counter(made);
    const call = rig.chat(made, { gateway, control: { status: 500, latencyMs: 200 } });
    await expect.poll(async () => (await rig.counter(made)).held > 0n).toBe(true);
    // The store goes away while the upstream fails: the refund cannot be delivered at first.
    gateway.connection.redis.disconnect(true);
    expect((await call).status).toBe(502);
    await expect
      .poll(async () => {
        await Promise.all([gateway.ledger.heartbeat(), gateway.ledger.heartbeat(), gateway.ledger.heartbeat()]);
        return rig.counter(made);
      })
      .toEqual(before);
    expect(gateway.ledger.counts()).toMatchObject({ open: 0, undelivered: 0 });
  });
});
