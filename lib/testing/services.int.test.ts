import { Redis } from "ioredis";
import pg from "pg";
import { describe, expect, it } from "vitest";
import { migrate } from "@/scripts/migrate";
import { startPrivateRedis, testDatabaseUrl, testRedisUrl } from "./services";

describe("test services", () => {
  it("give each worker a database that is already migrated", async () => {
    const url = await testDatabaseUrl();
    expect(await migrate(url)).toEqual([]);
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    const books = await client.query("select migration_name from _prisma_migrations where finished_at is null");
    await client.end();
    expect(books.rows).toEqual([]);
  });

  it("give each worker a logical Redis database that keeps what is written to it", async () => {
    const redis = new Redis(testRedisUrl());
    await redis.set("services-test", "kept");
    expect(await redis.get("services-test")).toBe("kept");
    await redis.quit();
  });

  it("give a test a Redis of its own, with data that outlives the server if it asks for that", async () => {
    const server = await startPrivateRedis({ appendonly: true });
    const client = new Redis(server.url, { retryStrategy: () => null });
    const config = await client.config("GET", "maxmemory-policy");
    await client.quit();
    await server.stop();
    expect(config).toEqual(["maxmemory-policy", "noeviction"]);
    expect(server.child.hasExited()).toBe(true);
  });
});
