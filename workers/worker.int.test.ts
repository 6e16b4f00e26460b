import type { Socket } from "node:net";
import { connect, createServer } from "node:net";
import { expect, it } from "vitest";
import { parseWorkerEnv } from "@/lib/config/env";
import { keysOf } from "@/lib/redis/keys";
import { isPublished } from "@/lib/redis/publication";
import { startPrivateRedis, testDatabaseUrl } from "@/lib/testing/services";
import { bookkeepingDeps, insertOrganisationRow, usageEventOf } from "@/lib/testing/usage-events";
import { freePort } from "@/lib/services/free-port";
import { startWorker } from "./worker";

/** The way to a server that others use too: it can be cut for those who take it. */
async function startRelay(databaseUrl: string) {
  const target = new URL(databaseUrl);
  const port = await freePort();
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    const onward = connect(Number(target.port), target.hostname);
    for (const [one, other] of [
      [socket, onward],
      [onward, socket],
    ] as const) {
      sockets.add(one);
      one.on("error", () => other.destroy());
      one.on("close", () => {
        sockets.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  });
  const mend = () => new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  await mend();
  const url = new URL(databaseUrl);
  url.host = `127.0.0.1:${port}`;
  return {
    url: url.href,
    mend,
    cut: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

it("two workers on one stream book every event once, unfence, raise each alert once, say what they miss, and stop cleanly", async () => {
  const server = await startPrivateRedis();
  const databaseUrl = await testDatabaseUrl();
  const deps = await bookkeepingDeps(databaseUrl, server.url);
  const secret = Buffer.alloc(32, 7).toString("base64");
  const relay = await startRelay(databaseUrl);
  const env = async () =>
    parseWorkerEnv({
      DATABASE_URL: relay.url,
      REDIS_URL: server.url,
      SPILLWAY_MASTER_KEY: secret,
      SPILLWAY_KEY_PEPPER: secret,
      LOG_LEVEL: "silent",
      WORKER_PORT: String(await freePort()),
    });
  const organisation = await insertOrganisationRow(deps.db, { limit: 2_200_000n });
  const { organisationId } = organisation;
  const keys = keysOf(organisationId);
  const workers = await Promise.all([startWorker(await env(), "one"), startWorker(await env(), "two")]);
  try {
    await expect.poll(() => deps.store.redis.get(keys.generation), { timeout: 15_000 }).toBe(deps.store.runId());
    const pipeline = deps.store.redis.pipeline();
    for (let index = 0; index < 2_000; index += 1) {
      pipeline.xadd(keys.usage, "*", "k", "settled", "e", JSON.stringify(usageEventOf(organisation)));
    }
    await pipeline.exec();
    await expect.poll(() => deps.store.redis.xlen(keys.usage), { timeout: 30_000 }).toBe(0);
    expect(await deps.db.prisma.ledgerEntry.count({ where: { organisationId } })).toBe(2_000);
    const rollup = await deps.db.prisma.usageRollup.aggregate({ where: { organisationId }, _sum: { amount: true } });
    expect(rollup._sum.amount).toBe(2_000_000n);
    const alerts = () =>
      deps.db.prisma.alert.findMany({
        where: { organisationId },
        orderBy: { threshold: "asc" },
        select: { threshold: true, detail: true },
      });
    await expect
      .poll(async () => (await alerts()).map((alert) => alert.threshold), { timeout: 10_000 })
      .toEqual([7500, 9000]);
    await expect
      .poll(async () => (await alerts()).every((alert) => "dispatchedAt" in (alert.detail as object)), {
        timeout: 15_000,
      })
      .toBe(true);
    const health = async () => {
      const answer = await fetch(`http://127.0.0.1:${workers[0]?.port ?? 0}/health`);
      return [answer.status, await answer.json()];
    };
    const well = { status: "ok", postgres: true, redis: true, snapshot: true, settlement: true };
    expect(await health()).toEqual([200, well]);
    await relay.cut();
    expect(await health()).toEqual([503, { ...well, status: "degraded", postgres: false }]);
    await relay.mend();
    await expect.poll(health, { timeout: 10_000 }).toEqual([200, well]);
    await deps.store.redis.flushall();
    await expect.poll(() => isPublished(deps.store), { timeout: 10_000 }).toBe(true);
    expect(await deps.store.redis.exists(keys.snapshot)).toBe(1);
    await expect.poll(health, { timeout: 10_000 }).toEqual([200, well]);
    const metrics = await fetch(`http://127.0.0.1:${workers[1]?.port ?? 0}/metrics`);
    expect(await metrics.text()).toContain("spillway_usage_events_total");
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()));
    await relay.cut();
    await deps.store.close();
    await server.stop();
  }
}, 120_000);
