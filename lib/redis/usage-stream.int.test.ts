import { expect, it } from "vitest";
import { systemClock } from "@/lib/domain/clock";
import { newId } from "@/lib/domain/ids";
import type { UsageEvent } from "@/lib/domain/usage-event";
import { reserveFor, settleFor } from "@/lib/testing/reservations";
import { testRedisUrl } from "@/lib/testing/services";
import { connectedStore, uniqueOrganisationId, usageEventOf } from "@/lib/testing/usage-events";
import { createBudgetLedger } from "./budget-ledger";
import type { HotConnection } from "./client";
import { keysOf } from "./keys";
import { ensureBookingGroup, listDeadUsage, peekUsage, removeBooked, retryDeadUsage } from "./usage-stream";

const CALLS = 40;

async function settledTogether(store: HotConnection): Promise<{ organisationId: string; events: UsageEvent[] }> {
  const organisation = { organisationId: uniqueOrganisationId(), budgetId: newId("bud", Date.now()) };
  const keys = keysOf(organisation.organisationId);
  await store.redis.set(keys.generation, store.runId() ?? "");
  await store.redis.set(keys.epoch, "1");
  await store.redis.hset(keys.limit(organisation.budgetId), "l", "1000000", "o", "0", "f", "0");
  const ledger = createBudgetLedger({ connection: store, gatewayId: "gw_1", clock: systemClock, beats: false });
  const events = Array.from({ length: CALLS }, (_, index) =>
    usageEventOf({ ...organisation, amount: BigInt(index + 1) }),
  );
  for (const event of events) await reserveFor(ledger, store.redis, event);
  await Promise.all(events.map((event) => settleFor(ledger, event)));
  await ensureBookingGroup(store.redis, organisation.organisationId);
  return { organisationId: organisation.organisationId, events };
}

it("calls that are settled together share entries of at most 32 events, and each event is whole", async () => {
  const store = await connectedStore(testRedisUrl());
  const { organisationId, events } = await settledTogether(store);
  const entries = await peekUsage(store.redis, organisationId, 10);
  expect(await store.redis.xlen(keysOf(organisationId).usage)).toBe(2);
  expect(entries.map(({ kind }) => kind)).toEqual(events.map(() => "settled"));
  expect(entries.map(({ eventJson }) => JSON.parse(eventJson) as unknown)).toEqual(events);
  expect(new Set(entries.slice(0, 32).map(({ id }) => id)).size).toBe(1);
  await store.close();
});

it("of a shared entry only the event that cannot be booked becomes a dead letter, and it can come again", async () => {
  const store = await connectedStore(testRedisUrl());
  const { organisationId, events } = await settledTogether(store);
  const entries = await peekUsage(store.redis, organisationId, 10);
  const bad = entries.flatMap((entry, index) => (index === 7 ? [{ ...entry, reason: "no such month" }] : []));
  const ids = entries.map(({ id }) => id);
  expect(await removeBooked(store.redis, organisationId, ids, bad)).toEqual({ removed: 2, watermark: ids.at(-1) });
  expect(await peekUsage(store.redis, organisationId, 10)).toEqual([]);
  const letters = await listDeadUsage(store.redis, organisationId, 10);
  expect(letters.map(({ reason, eventJson }) => [reason, JSON.parse(eventJson) as unknown])).toEqual([
    ["no such month", events[7]],
  ]);
  // The worker died before it heard of the removal: saying it again adds nothing.
  await removeBooked(store.redis, organisationId, ids, bad);
  expect(await listDeadUsage(store.redis, organisationId, 10)).toHaveLength(1);
  expect(await retryDeadUsage(store.redis, organisationId, 10)).toBe(1);
  const [again] = await peekUsage(store.redis, organisationId, 10);
  expect(JSON.parse(again?.eventJson ?? "") as unknown).toEqual(events[7]);
  await store.close();
});

it("an entry that says nothing can be set aside, so that it does not stay for ever", async () => {
  const store = await connectedStore(testRedisUrl());
  const organisationId = uniqueOrganisationId();
  await store.redis.xadd(keysOf(organisationId).usage, "*", "k", "settled");
  const [empty] = await peekUsage(store.redis, organisationId, 10);
  expect(empty).toMatchObject({ kind: "settled", eventJson: "" });
  await store.close();
});
