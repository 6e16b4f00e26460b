// The whole product on one machine: Postgres, Redis, the stand-in provider, the worker and the web process. Used by
// `npm start` on kept data and by the browser tests on throw-away data.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { freePort, portIsFree } from "@/lib/services/free-port";
import { startPostgres } from "@/lib/services/postgres";
import { startRedis } from "@/lib/services/redis";
import { reasonOf, ServiceError } from "@/lib/services/service-error";
import { ensureBuilt } from "../build/build";
import { ensurePrismaClient } from "../build/prisma-client";
import { migrate } from "../migrate";
import type { DataFolder } from "./data-folder";
import type { FirstRun } from "./first-run";
import { seed } from "./first-run";
import { Keeper } from "./keeper";
import { answersOk, listens } from "./probe";
import type { ProcessSetting } from "./processes";
import { environmentFor, localUrl, processOptions } from "./processes";
import { checkRedis } from "./redis-check";
import { loadSecrets } from "./secrets";
import type { Say } from "./steps";
import { Steps } from "./steps";

export interface StackOptions {
  readonly root: string;
  readonly data: DataFolder;
  readonly say: Say;
  readonly host: string;
  readonly port: number;
  readonly dev?: boolean;
  /** False for throw-away data. */
  readonly durable?: boolean;
  /** Filled as things start, so that whoever is interrupted can stop what is up so far. */
  readonly stops: StopList;
  readonly environment?: NodeJS.ProcessEnv;
}

export interface Stack {
  readonly url: string;
  readonly env: NodeJS.ProcessEnv;
  readonly firstRun: FirstRun | undefined;
  readonly took: string;
  /** Rejects when a process cannot be kept running. */
  readonly lost: Promise<never>;
}

/** What has to be stopped, last started first. */
export class StopList {
  readonly #stops: (() => Promise<void>)[] = [];
  #stopping: Promise<void> | undefined;

  add(stop: () => Promise<void>): void {
    // Whatever starts after the end was decided has to go as well.
    if (this.#stopping === undefined) this.#stops.push(stop);
    else this.#stopping = this.#stopping.then(stop);
  }

  get stopping(): boolean {
    return this.#stopping !== undefined;
  }

  run(): Promise<void> {
    this.#stopping ??= this.#runAll();
    return this.#stopping;
  }

  async #runAll(): Promise<void> {
    for (const stop of this.#stops.reverse()) await stop().catch((error: unknown) => console.error(reasonOf(error)));
  }
}

export async function startStack(options: StackOptions): Promise<Stack> {
  const { root, data, stops, dev = false, environment = process.env } = options;
  const steps = new Steps(options.say);
  await refuseTakenPort(options.host, options.port);
  const secrets = loadSecrets(data.path, environment);
  const databaseUrl = await steps
    .run(
      "Postgres",
      () => postgres(options),
      (it) => it.words,
    )
    .then((it) => it.url);
  const redisUrl = await steps
    .run(
      "Redis",
      () => redis(options),
      (it) => it.words,
    )
    .then((it) => it.url);
  await steps.run(
    "schema",
    () => migrate(databaseUrl),
    (names) => migrationWords(names),
  );
  const addresses = {
    ...{ host: options.host, port: options.port, databaseUrl, redisUrl },
    workerPort: await chosenPort(environment["WORKER_PORT"]),
    sandboxPort: await chosenPort(environment["SANDBOX_PORT"]),
  };
  const setting: ProcessSetting = {
    ...{ root, dev, logs: data.logs },
    env: environmentFor(addresses, secrets, data.path, environment),
  };
  await steps.run(
    "build",
    () => build(options),
    (built) => (built ? "" : "unchanged"),
  );
  const firstRun = await steps.run(
    "sample",
    () => seed(setting, data.path),
    (made) => made?.email ?? "",
  );

  const keeper = new Keeper(options.say);
  stops.add(() => keeper.stop());
  const start = async (name: string, entry: string, ready: () => Promise<boolean>) => {
    if (!existsSync(join(root, entry))) throw new ServiceError(`${entry} is missing: this checkout is not complete.`);
    await steps.run(name, () => keeper.start({ ...processOptions(name, entry, setting), ready }));
  };
  const url = localUrl(options.host, options.port);
  const own = environment["SANDBOX_URL"] === undefined;
  // Side by side: each waits more than it works.
  await Promise.all([
    own && start("sandbox", "workers/sandbox-server.ts", () => listens("127.0.0.1", addresses.sandboxPort)),
    start("worker", "workers/main.ts", () => listens("127.0.0.1", addresses.workerPort)),
    start("web", "workers/web-server.ts", () => answersOk(`${url}/api/health`)),
  ]);
  return { url, env: setting.env, firstRun, took: steps.total(), lost: keeper.lost };
}

interface Service {
  readonly url: string;
  readonly words: string;
}

async function postgres({ data, say, stops, durable, environment = process.env }: StackOptions): Promise<Service> {
  const given = environment["DATABASE_URL"];
  if (given !== undefined && given !== "") return { url: given, words: "from DATABASE_URL" };
  const running = await startPostgres({
    dataDir: join(data.path, "postgres"),
    logFile: join(data.logs, "postgres.log"),
    ...{ say, durable: durable ?? true },
  });
  stops.add(running.stop);
  return { url: running.url, words: `on port ${running.port}` };
}

async function redis({ data, say, stops, durable, environment = process.env }: StackOptions): Promise<Service> {
  const given = environment["REDIS_URL"];
  if (given !== undefined && given !== "") {
    await checkRedis(given);
    return { url: given, words: "from REDIS_URL" };
  }
  const running = await startRedis({
    dataDir: join(data.path, "redis"),
    logFile: join(data.logs, "redis.log"),
    ...{ say, appendonly: durable ?? true },
  });
  stops.add(running.stop);
  return { url: running.url, words: `on port ${running.port}` };
}

async function build({ root, data, dev, stops }: StackOptions): Promise<boolean> {
  if (dev === true) return ensurePrismaClient(root);
  return ensureBuilt({ root, logFolder: data.logs, onChild: (child) => stops.add(child.stop) });
}

async function refuseTakenPort(host: string, port: number): Promise<void> {
  if (await portIsFree(port, host)) return;
  throw new ServiceError(
    `Port ${port} on ${host} cannot be used, most likely because another program listens there: stop that program or set SPILLWAY_PORT to another port.`,
  );
}

async function chosenPort(given: string | undefined): Promise<number> {
  return given === undefined || given === "" ? freePort() : Number(given);
}

function migrationWords(names: readonly string[]): string {
  return names.length === 0 ? "up to date" : `${names.length} migration${names.length === 1 ? "" : "s"} applied`;
}
