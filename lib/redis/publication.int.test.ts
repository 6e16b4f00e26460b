import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { frozenClock } from "@/lib/domain/clock";
import { StoreUnavailable } from "@/lib/gateway/ports";
import type { RunningRedis } from "@/lib/services/redis";
import { startRedis } from "@/lib/services/redis";
import { throwAwayFolder } from "@/lib/services/throw-away";
import { ready } from "@/lib/testing/running-gateway";
import type { HotConnection } from "./client";
import { connectHot } from "./client";
import { IssuerDirectory } from "./issuer-directory";
import { ISSUER_INDEX } from "./keys";
import { beginPublication, endPublication, isPublished } from "./publication";

let server: RunningRedis;
let store: HotConnection;
const dataDir = throwAwayFolder("spillway-redis");
beforeAll(async () => {
  server = await startRedis({ dataDir, appendonly: true });
  store = connectHot(server.url, { name: "spillway-test-publication" });
  await ready(store);
});
afterAll(async () => {
  await store.close();
  await server.stop();
});

const begin = () => beginPublication(store.redis, randomUUID());
const publish = async () => endPublication(store.redis, await begin());

describe("the word that all is published", () => {
  it("holds from the end of a round on", async () => {
    await store.redis.flushall();
    const round = await begin();
    expect(await isPublished(store)).toBe(false);
    await endPublication(store.redis, round);
    expect(await isPublished(store)).toBe(true);
    expect((await begin()).isSaid).toBe(true);
  });

  it("is gone with the data, and a round that began before says nothing of what came after", async () => {
    const [before, after] = [await begin(), { ...(await begin()), isSaid: false }];
    await store.redis.flushall();
    expect(await isPublished(store)).toBe(false);
    await endPublication(store.redis, after);
    expect(await isPublished(store)).toBe(false);
    const next = await begin();
    await endPublication(store.redis, { ...before, isSaid: false });
    expect(await isPublished(store)).toBe(false);
    await endPublication(store.redis, next);
    expect(await isPublished(store)).toBe(true);
  });

  it("does not hold for a server that was started anew, which may lack the latest", async () => {
    await publish();
    const { port } = server;
    await server.stop();
    server = await startRedis({ dataDir, appendonly: true, port });
    await expect.poll(() => store.runId(), { timeout: 10_000 }).toBeDefined();
    expect(await isPublished(store)).toBe(false);
    await publish();
    expect(await isPublished(store)).toBe(true);
  }, 30_000);
});

describe("an index of issuers that was lost", () => {
  const [known, other] = ["https://known.example", "https://other.example"];
  const entry = (issuer: string) => JSON.stringify({ organisationId: "acme", issuer, tokenPrefix: null });

  it("is no reason to take an issuer for unknown, neither one that was seen before nor another", async () => {
    await store.redis.hset(ISSUER_INDEX, { v: "1", one: entry(known) });
    await publish();
    const clock = frozenClock(0);
    const [seasoned, fresh] = [new IssuerDirectory(store, clock), new IssuerDirectory(store, clock)];
    expect([await seasoned.ofIssuer(known), await seasoned.ofIssuer(other)]).toEqual([["acme"], []]);
    await store.redis.flushall();
    // The first organisation is back, the next is not yet.
    await store.redis.hset(ISSUER_INDEX, { v: "1", one: entry(known) });
    for (let count = 0; count < 3; count += 1) {
      clock.advance(500);
      expect(await seasoned.ofIssuer(known)).toEqual(["acme"]);
      await expect(seasoned.ofIssuer(other)).rejects.toThrow(StoreUnavailable);
      await expect(fresh.ofIssuer(other)).rejects.toThrow(StoreUnavailable);
    }
    await store.redis.hset(ISSUER_INDEX, { v: "2", two: entry(other) });
    await publish();
    clock.advance(500);
    expect(await fresh.ofIssuer(other)).toEqual(["acme"]);
    expect(await fresh.ofIssuer("https://nobody.example")).toEqual([]);
  });
});
