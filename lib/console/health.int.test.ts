import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { connectPatient } from "@/lib/redis/client";
import { beginPublication, endPublication } from "@/lib/redis/publication";
import { freePort } from "@/lib/services/free-port";
import { startPrivateRedis, testDatabaseUrl } from "@/lib/testing/services";
import { createConsoleServices } from "@/lib/wiring/console";
import { readHealth } from "./health";

it("the web process is ready with both stores and the whole snapshot, and says what is missing", async () => {
  const server = await startPrivateRedis();
  const worker = connectPatient(server.url);
  const services = createConsoleServices(await testDatabaseUrl(), server.url);
  const noPostgres = createConsoleServices(`postgresql://u:p@127.0.0.1:${await freePort()}/none`, server.url);
  try {
    const well = { postgres: "up", redis: "up", snapshot: "published" };
    const publish = async () => endPublication(worker, await beginPublication(worker, randomUUID()));
    expect(await readHealth(services)).toMatchObject({ ready: false, checks: { ...well, snapshot: "missing" } });
    await publish();
    expect(await readHealth(services)).toMatchObject({ ready: true, checks: well, usage: { waiting: 0 } });
    expect(await readHealth(noPostgres)).toEqual({ ready: false, checks: { ...well, postgres: "down" }, usage: null });
    await worker.flushall();
    expect(await readHealth(services)).toMatchObject({ ready: false, checks: { ...well, snapshot: "missing" } });
    await server.stop();
    const away = { ...well, redis: "down", snapshot: "unknown" };
    expect(await readHealth(services)).toEqual({ ready: false, checks: away, usage: null });
  } finally {
    worker.disconnect();
    await services.close();
    await noPostgres.close();
    await server.stop();
  }
}, 30_000);
