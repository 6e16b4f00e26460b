// Once per run of the integration tests: a Postgres and a Redis (given by URL or started here), and a migrated template
// database from which every worker clones its own.
import type { TestProject } from "vitest/node";
import { startPostgres } from "@/lib/services/postgres";
import { startRedis } from "@/lib/services/redis";
import { throwAwayFolder } from "@/lib/services/throw-away";
import { prepareTemplate } from "./template-database";

declare module "vitest" {
  export interface ProvidedContext {
    /** A Postgres whose user may create databases. */
    testPostgresUrl: string;
    testRedisUrl: string;
    testTemplateDatabase: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = throwAwayFolder("spillway-int");
  const stops: (() => Promise<void>)[] = [];
  let postgresUrl = process.env["TEST_DATABASE_URL"];
  if (postgresUrl === undefined || postgresUrl === "") {
    const postgres = await startPostgres({ dataDir: `${folder}/postgres`, durable: false });
    stops.push(postgres.stop);
    postgresUrl = postgres.url;
  }
  let redisUrl = process.env["TEST_REDIS_URL"];
  if (redisUrl === undefined || redisUrl === "") {
    const redis = await startRedis({ dataDir: `${folder}/redis`, appendonly: false, databases: 64 });
    stops.push(redis.stop);
    redisUrl = redis.url;
  }
  project.provide("testPostgresUrl", postgresUrl);
  project.provide("testRedisUrl", redisUrl);
  project.provide("testTemplateDatabase", await prepareTemplate(postgresUrl));
  return async () => {
    for (const stop of stops.reverse()) await stop();
  };
}
