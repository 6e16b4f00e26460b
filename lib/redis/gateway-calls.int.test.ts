import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { systemClock } from "@/lib/domain/clock";
import { newId } from "@/lib/domain/ids";
import type { UsageEvent } from "@/lib/domain/usage-event";
import { FileJournal } from "@/lib/journal/file-journal";
import type { RunningRedis } from "@/lib/services/redis";
import { startRedis } from "@/lib/services/redis";
import { throwAwayFolder } from "@/lib/services/throw-away";
import { extendFor, reserveFor, reserveInputFor, settleFor } from "@/lib/testing/reservations";
import { connectedStore, uniqueOrganisationId, usageEventOf } from "@/lib/testing/usage-events";
import { createBudgetLedger } from "./budget-ledger";
import type { HotConnection } from "./client";
import { keysOf } from "./keys";
import { readReservations } from "./sweeper";
import { peekUsage } from "./usage-stream";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

interface Bench {
  readonly store: HotConnection;
  readonly organisation: { readonly organisationId: string; readonly budgetId: string };
  readonly keys: ReturnType<typeof keysOf>;
  readonly event: (amount?: bigint) => UsageEvent;
  /** Remembers what Redis holds now. */
  readonly mark: () => void;
  /** Restarts Redis as it was at the mark: another run id, so everybody is fenced. */
  readonly rollBack: () => Promise<void>;
}

async function bench(): Promise<Bench> {
  const folder = throwAwayFolder("spillway-calls");
  const copy = throwAwayFolder("spillway-calls-copy");
  let server: RunningRedis = await startRedis({ dataDir: folder, appendonly: true });
  const store = await connectedStore(server.url);
  closing.push(async () => {
    await store.close();
    await server.stop();
  });
  const organisation = { organisationId: uniqueOrganisationId(), budgetId: newId("bud", Date.now()) };
  const keys = keysOf(organisation.organisationId);
  await store.redis.set(keys.generation, store.runId() ?? "");
  await store.redis.set(keys.epoch, "1");
  await store.redis.hset(keys.limit(organisation.budgetId), "l", "1000000", "o", "0", "f", "0");
  return {
    store,
    organisation,
    keys,
    event: (amount = 1_000n) => usageEventOf({ ...organisation, amount }),
    mark: () => cpSync(join(folder, "appendonlydir"), copy, { recursive: true }),
    rollBack: async () => {
      const before = store.runId();
      await server.stop();
      rmSync(join(folder, "appendonlydir"), { recursive: true });
      cpSync(copy, join(folder, "appendonlydir"), { recursive: true });
      server = await startRedis({ dataDir: folder, appendonly: true, port: server.port });
      await expect.poll(() => [undefined, before].includes(store.runId()), { timeout: 10_000 }).toBe(false);
    },
  };
}

function gatewayOn(store: HotConnection, gatewayId = "gw_1") {
  return createBudgetLedger({ connection: store, gatewayId, clock: systemClock, beats: false });
}

describe("an extension", () => {
  it("is refused under another epoch, under a fence, and after the call has ended", async () => {
    const { store, keys, event } = await bench();
    const gateway = gatewayOn(store);
    const call = event();
    await reserveFor(gateway, store.redis, call);
    await store.redis.set(keys.epoch, "2");
    const input = await reserveInputFor(store.redis, call);
    const extension = { ...input, sequence: 1, amounts: ["1"], headJson: "{}", usage: call.usage };
    expect(await gateway.extend({ ...extension, epoch: "1" })).toEqual({ code: "stale" });
    await store.redis.set(keys.generation, "another");
    expect(await gateway.extend(extension)).toEqual({ code: "fenced" });
    await store.redis.set(keys.generation, store.runId() ?? "");
    await settleFor(gateway, call);
    expect(await gateway.extend(extension)).toEqual({ code: "ended" });
    const [line] = call.lines;
    expect(await store.redis.hmget(keys.counter(line?.b ?? "", line?.p ?? ""), "s", "h")).toEqual(["1000", "0"]);
  });

  it("never holds on budgets that the call was not reserved on", async () => {
    const { store, keys, event } = await bench();
    const gateway = gatewayOn(store);
    const call = event();
    await reserveFor(gateway, store.redis, call);
    const input = await reserveInputFor(store.redis, call);
    await store.redis.hset(keys.limit("bud_other"), "l", "1000000", "o", "0", "f", "0");
    const budgets = input.budgets.map((line) => ({ ...line, budgetId: "bud_other" }));
    const extension = { ...input, budgets, sequence: 1, amounts: ["1"], headJson: "{}", usage: call.usage };
    expect(await gateway.extend(extension)).toEqual({ code: "ended" });
    expect(await store.redis.exists(keys.counter("bud_other", call.lines[0]?.p ?? ""))).toBe(0);
  });
});

describe("a gateway behind a fence", () => {
  it("notes on disk what only counts, and holds or refuses what is kept beyond its process", async () => {
    const { store, keys, event } = await bench();
    await store.redis.set(keys.generation, "another server");
    const folder = join(throwAwayFolder("spillway-journal"), "journal");
    const journal = new FileJournal({ folder, owner: "gw_1", maxBytes: 100_000, elapsedMs: () => 0 });
    const options = { connection: store, gatewayId: "gw_1", clock: systemClock, beats: false, journal };
    const gateway = createBudgetLedger(options);
    const softly = async (isKept: boolean) => {
      const input = await reserveInputFor(store.redis, event());
      const budgets = input.budgets.map((line) => ({ ...line, enforcement: "warn" as const }));
      return (await gateway.reserve({ ...input, budgets, isKept })).code;
    };
    expect([await softly(false), await softly(true), journal.size]).toEqual(["reserved", "fenced", 1]);
  });
});

describe("a call that ends behind a fence", () => {
  it("keeps its lease until the store has taken its end", async () => {
    const { store, keys, event } = await bench();
    let nowMs = Date.now();
    const gateway = createBudgetLedger({
      ...{ connection: store, gatewayId: "gw_1", clock: systemClock, beats: false },
      ...{ leaseMs: 5_000, scriptNowMs: () => String(nowMs) },
    });
    const call = event();
    await reserveFor(gateway, store.redis, call);
    await store.redis.set(keys.generation, "another server");
    await gateway.heartbeat();
    await settleFor(gateway, call);
    nowMs += 60_000;
    await gateway.heartbeat();
    expect(Number(await store.redis.zscore(keys.deadlines, `${call.requestId}:0`))).toBe(nowMs + 5_000);
    await store.redis.set(keys.generation, store.runId() ?? "");
    await gateway.heartbeat();
    expect(await store.redis.zcard(keys.deadlines)).toBe(0);
    expect(gateway.counts()).toMatchObject({ open: 0, undelivered: 0 });
  });
});

describe("a gateway whose Redis lost its latest writes", () => {
  it("announces a settlement although the watermark has passed its old stream id already", async () => {
    const { store, keys, event, mark, rollBack, organisation } = await bench();
    const gateway = gatewayOn(store);
    const call = event();
    await reserveFor(gateway, store.redis, call);
    mark();
    await settleFor(gateway, call);
    await rollBack();
    // Another gateway was quicker: what it announced is booked, and the watermark stands at its younger id.
    await store.redis.set(keys.booked, `${String(Date.now() + 1)}-0`);
    await gateway.heartbeat();
    const entries = await peekUsage(store.redis, organisation.organisationId, 10);
    expect(entries.map(({ kind, eventJson }) => [kind, JSON.parse(eventJson)])).toEqual([["announced", call]]);
  });

  it("delivers its ends once more where the fence fell without it", async () => {
    const { store, keys, event, mark, rollBack, organisation } = await bench();
    const gateway = gatewayOn(store);
    const [settled, voided] = [event(), event()];
    for (const call of [settled, voided]) await reserveFor(gateway, store.redis, call);
    mark();
    await settleFor(gateway, settled);
    await gateway.void({ organisationId: organisation.organisationId, reservationId: `${voided.requestId}:0` });
    await rollBack();
    // It was registered no longer, so recovery did not wait: both reservations were kept as running calls.
    await store.redis.set(keys.generation, store.runId() ?? "");
    await gateway.heartbeat();
    const [line] = settled.lines;
    expect(await store.redis.hmget(keys.counter(line?.b ?? "", line?.p ?? ""), "s", "h")).toEqual(["1000", "0"]);
    expect(await store.redis.zcard(keys.deadlines)).toBe(0);
    expect((await peekUsage(store.redis, organisation.organisationId, 10)).map((one) => one.kind)).toEqual(["settled"]);
  });

  it("announces a late settlement as late where the reservation had expired before", async () => {
    const { store, keys, event, mark, rollBack, organisation } = await bench();
    const gateway = gatewayOn(store);
    const call = event();
    const reservation = keys.reservation(`${call.requestId}:0`);
    await reserveFor(gateway, store.redis, call);
    await store.redis.multi().set(reservation, "e").zrem(keys.deadlines, `${call.requestId}:0`).exec();
    mark();
    await settleFor(gateway, call);
    await rollBack();
    await gateway.heartbeat();
    expect((await peekUsage(store.redis, organisation.organisationId, 10)).map((one) => one.kind)).toEqual(["late"]);
    expect(await store.redis.get(reservation)).toBe("l");
  });

  it.each([
    ["the extension", false],
    ["the call with all its extensions", true],
  ])("announces what a call holds, extensions included, where Redis lost %s", async (_what, isLost) => {
    const { store, event, mark, rollBack, organisation } = await bench();
    const gateway = gatewayOn(store);
    const call = event();
    if (isLost) mark();
    await reserveFor(gateway, store.redis, call);
    if (!isLost) mark();
    for (const number of [1, 2]) {
      expect(await extendFor(gateway, store.redis, call, number, 300n)).toMatchObject({ code: "extended" });
    }
    await rollBack();
    await gateway.heartbeat();
    const [stored] = await readReservations(store, organisation.organisationId, [`${call.requestId}:0`]);
    expect(stored?.lines.map(({ held }) => held)).toEqual([5_600n]);
    expect(JSON.parse(stored?.headJson ?? "{}")).toMatchObject({ heldAmount: "5600" });
  });

  it("keeps an extension whose answer its gateway never heard, and takes the next one", async () => {
    const { store, keys, event, rollBack, mark, organisation } = await bench();
    const gateway = gatewayOn(store);
    const call = event();
    await reserveFor(gateway, store.redis, call);
    await extendFor(gatewayOn(store, "gw_deaf"), store.redis, call, 1, 300n);
    mark();
    await rollBack();
    await gateway.heartbeat();
    await store.redis.set(keys.generation, store.runId() ?? "");
    expect(await extendFor(gateway, store.redis, call, 1, 300n)).toMatchObject({ code: "extended" });
    expect(await extendFor(gateway, store.redis, call, 2, 300n)).toMatchObject({ code: "extended" });
    const [stored] = await readReservations(store, organisation.organisationId, [`${call.requestId}:0`]);
    expect(stored?.lines.map(({ held }) => held)).toEqual([5_600n]);
  });

  it("announces a running call with the model, rung and overflow of the plan that was taken", async () => {
    const { store, event, mark, rollBack, organisation } = await bench();
    const gateway = gatewayOn(store);
    const call = event();
    const head = JSON.stringify({ modelServed: "sandbox-small" });
    mark();
    const input = await reserveInputFor(store.redis, call);
    expect(
      (await gateway.reserve({ ...input, head: { opening: "", call: head.slice(0, -1), servings: [""], held: [""] } }))
        .code,
    ).toBe("reserved");
    await rollBack();
    await gateway.heartbeat();
    const [stored] = await readReservations(store, organisation.organisationId, [`${call.requestId}:0`]);
    expect(stored).toMatchObject({ headJson: head, rungBasisPoints: 0, isOverflow: false });
  });
});
