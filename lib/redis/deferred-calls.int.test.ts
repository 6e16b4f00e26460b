import { afterAll, beforeAll, expect, it } from "vitest";
import { newId } from "@/lib/domain/ids";
import { StoreUnavailable } from "@/lib/gateway/ports";
import { testRedisUrl } from "@/lib/testing/services";
import { connectedStore, uniqueOrganisationId } from "@/lib/testing/usage-events";
import type { HotConnection } from "./client";
import { createDeferralStore, DeferredBoxes, readHandedOver, removeHandedOver } from "./deferred-calls";

let connection: HotConnection;
beforeAll(async () => {
  connection = await connectedStore(testRedisUrl());
});
afterAll(() => connection.close());

it("a caller who defers faster than the worker takes over does not fill the store for all others", async () => {
  const organisationId = uniqueOrganisationId();
  const boxes = new DeferredBoxes(Buffer.alloc(32, 1));
  const store = createDeferralStore(connection, boxes, () => Date.now(), 3);
  const request = { method: "POST", url: "/v1/chat/completions", headers: {}, body: "{}" };
  const accept = async (): Promise<void> => {
    const nowMs = Date.now();
    const key = { apiKeyId: "k", appId: "a", environment: "production" } as const;
    const facts = { id: newId("dfr", nowMs), ...key, createdMs: nowMs, keepSeconds: 60 };
    await store.accept(organisationId, { ...facts, deadlineMs: nowMs + 60_000 }, request);
  };
  for (let index = 0; index < 3; index += 1) await accept();
  await expect(accept()).rejects.toBeInstanceOf(StoreUnavailable);
  const waiting = await readHandedOver(connection.redis, organisationId, 10);
  expect(waiting).toHaveLength(3);
  await removeHandedOver(connection.redis, organisationId, [waiting[0]?.entryId ?? ""]);
  await accept();
});
