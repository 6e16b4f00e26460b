// Real Postgres and Redis for `*.int.test.ts` and benches. Each vitest worker gets its own database, cloned from a migrated
// template, and its own logical Redis database, so that files running side by side never meet. Within a worker, tests
// use unique ids instead of cleaning up after each other.
import { inject } from "vitest";
import type { RunningRedis } from "@/lib/services/redis";
import { startRedis } from "@/lib/services/redis";
import { throwAwayFolder } from "@/lib/services/throw-away";
import { cloneDatabase } from "./template-database";

let database: Promise<string> | undefined;

/** The database of this worker and test file, migrated and empty. */
export function testDatabaseUrl(): Promise<string> {
  // Vitest loads this module anew for each test file, so each file starts from a fresh clone.
  database ??= cloneDatabase(inject("testPostgresUrl"), inject("testTemplateDatabase"), `spillway_test_${workerId()}`);
  return database;
}

/** The logical Redis database of this worker. Not emptied between files: take unique organisation ids. */
export function testRedisUrl(): string {
  const url = new URL(inject("testRedisUrl"));
  // 0 stays free for whoever looks around by hand.
  url.pathname = `/${workerId()}`;
  return url.href;
}

/**
 * A Redis server of this test's own, for tests that stop it, count its commands or need its whole memory.
 * Call `stop` at the end; it ends with the test run in any case.
 */
export function startPrivateRedis(
  options: { readonly appendonly?: boolean; readonly port?: number } = {},
): Promise<RunningRedis> {
  return startRedis({ dataDir: throwAwayFolder("spillway-redis"), appendonly: false, ...options });
}

function workerId(): number {
  return Number(process.env["VITEST_POOL_ID"] ?? "1");
}
