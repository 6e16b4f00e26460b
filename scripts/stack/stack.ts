// The whole product on one machine: Postgres, Redis, the stand-in provider, the worker and the web process. Used by
// `npm start` on kept data and by the browser tests on throw-away data.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { freePort, portProblem } from "@/lib/services/free-port";
import { startPostgres } from "@/lib/services/postgres";
import { startRedis } from "@/lib/services/redis";
import { reasonOf, ServiceError } from "@/lib/services/service-error";
import { ensureBuilt } from "../build/build";
import { ensurePrismaClient } from "../build/prisma-client";
import { migrate, openDatabase } from "../migrate";
import type { DataFolder } from "./data-folder";
import type { FirstRun } from "./first-run";
import { seed } from "./first-run";
import { Keeper } from "./keeper";
import { answersOk, gaugeOf, listens } from "./probe";
import type { Addresses, Environment, ProcessSetting } from "./processes";
import { environmentFor, localUrl, processOptions } from "./processes";
import { checkRedis } from "./redis-check";
import { chooseSandboxPort } from "./sandbox-port";
import { loadSecrets } from "./secrets";
import type { Outcome, Say } from "./steps";
import { Steps } from "./steps";

export interface StackOptions {
  readonly root: string;
  readonly data: DataFolder;
  readonly say: Say;
  readonly host: string;
  readonly port: number;
  readonly dev?: boolean;
  /** When the whole began, as `performance.now` counts; now where absent. */
  readonly begunMs?: number;
  /** False for throw-away data. */
  readonly durable?: boolean;
  /** Filled as things start, so that whoever is interrupted can stop what is up so far. */
  readonly stops: StopList;
  readonly environment?: Environment;
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
  const { root, data, dev = false, environment = process.env } = options;
  const steps = new Steps(options.say, options.begunMs);
  await refuseUnusablePort(options.host, options.port);
  const secrets = loadSecrets(data.path, environment);
  const databaseUrl = await steps.run("Postgres", () => postgres(options));
  const redisUrl = await steps.run("Redis", () => redis(options));
  const isNewSchema = await steps.run("schema", () => schema(databaseUrl));
  const sandbox = await chooseSandboxPort(data.path, environment);
  const addresses = {
    ...{ host: options.host, port: options.port, databaseUrl, redisUrl },
    workerPort: await chosenPort(environment["WORKER_PORT"]),
    sandboxPort: sandbox.port,
  };
  const env = environmentFor(addresses, secrets, data.path, environment);
  const setting: ProcessSetting = { root, dev, env, logs: data.logs };
  await steps.run("build", () => build(options));
  const firstRun = await steps.run("sample", () => sample(setting, data.path, isNewSchema || sandbox.isNew));
  const keeper = new Keeper(options.say);
  options.stops.add(() => keeper.stop());
  await startProcesses(options, keeper, steps, setting, addresses);
  await steps.run("counters", () => untilUnfenced(addresses.workerPort));
  const { lost } = keeper;
  return { url: localUrl(options.host, options.port), env, firstRun, took: steps.total(), lost };
}

async function startProcesses(
  options: StackOptions,
  keeper: Keeper,
  steps: Steps,
  setting: ProcessSetting,
  { host, port, workerPort, sandboxPort }: Addresses,
): Promise<void> {
  const start = async (name: string, entry: string, ready: () => Promise<boolean>): Promise<void> => {
    if (!existsSync(join(options.root, entry))) {
      throw new ServiceError(`${entry} is missing: this checkout is not complete.`);
    }
    await steps.run(name, async () => {
      await keeper.start({ ...processOptions(name, entry, setting), ready });
      return { value: undefined };
    });
  };
  const ownSandbox = (options.environment ?? process.env)["SANDBOX_URL"] === undefined;
  // Side by side: each waits more than it works.
  await Promise.all([
    ownSandbox && start("sandbox", "workers/sandbox-server.ts", () => listens("127.0.0.1", sandboxPort)),
    start("worker", "workers/main.ts", () => listens("127.0.0.1", workerPort)),
    start("web", "workers/web-server.ts", () => answersOk(`${localUrl(host, port)}/api/health`)),
  ]);
}

const unfencing = { timeoutMs: 20_000, pauseMs: 100 };

/**
 * A Redis that was started anew is not trusted before the worker has proved its counters, and calls are refused until then:
 * what we print has to work when it is printed. Whoever waits in vain is told, and everything runs on.
 */
async function untilUnfenced(workerPort: number): Promise<Outcome<void>> {
  const deadline = performance.now() + unfencing.timeoutMs;
  while ((await gaugeOf(`http://127.0.0.1:${workerPort}/metrics`, "spillway_fenced_organisations")) !== 0) {
    if (performance.now() > deadline) return { value: undefined, words: "still being checked; calls wait for it" };
    await delay(unfencing.pauseMs);
  }
  return { value: undefined };
}

async function schema(databaseUrl: string): Promise<Outcome<boolean>> {
  const { length } = await migrate(databaseUrl);
  const words = length === 0 ? "up to date" : `${length} migration${length === 1 ? "" : "s"} applied`;
  return { value: length > 0, words };
}

async function sample(setting: ProcessSetting, folder: string, isNew: boolean): Promise<Outcome<FirstRun | undefined>> {
  const value = await seed(setting, folder, isNew);
  return { value, words: value?.email ?? "" };
}

async function postgres({
  data,
  say,
  stops,
  durable,
  environment = process.env,
}: StackOptions): Promise<Outcome<string>> {
  const given = environment["DATABASE_URL"];
  if (given !== undefined && given !== "") {
    await (await openDatabase(given)).end();
    return { value: given, words: "from DATABASE_URL" };
  }
  const running = await startPostgres({
    dataDir: join(data.path, "postgres"),
    logFile: join(data.logs, "postgres.log"),
    ...{ say, durable: durable ?? true },
  });
  stops.add(running.stop);
  return { value: running.url, words: `on port ${running.port}` };
}

async function redis({ data, say, stops, durable, environment = process.env }: StackOptions): Promise<Outcome<string>> {
  const given = environment["REDIS_URL"];
  if (given !== undefined && given !== "") {
    await checkRedis(given);
    return { value: given, words: "from REDIS_URL" };
  }
  const running = await startRedis({
    dataDir: join(data.path, "redis"),
    logFile: join(data.logs, "redis.log"),
    ...{ say, appendonly: durable ?? true },
  });
  stops.add(running.stop);
  return { value: running.url, words: `on port ${running.port}` };
}

async function build({ root, data, dev, stops }: StackOptions): Promise<Outcome<void>> {
  if (dev === true) {
    ensurePrismaClient(root);
    return { value: undefined, words: "not needed for development" };
  }
  const built = await ensureBuilt({ root, logFolder: data.logs, onChild: (child) => stops.add(child.stop) });
  return { value: undefined, words: built ? "" : "unchanged" };
}

async function refuseUnusablePort(host: string, port: number): Promise<void> {
  const problem = await portProblem(port, host);
  if (problem !== undefined) throw new ServiceError(portSentence(host, port, problem));
}

export function portSentence(host: string, port: number, problem: string): string {
  switch (problem) {
    case "EADDRINUSE":
      return `Port ${port} on ${host} is taken by another program: stop that program or set SPILLWAY_PORT to another port.`;
    case "EACCES":
      return `Port ${port} may not be used by this user: set SPILLWAY_PORT to a port above 1023.`;
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return `This machine has no address ${host}: set SPILLWAY_HOST to one that it has, such as 127.0.0.1.`;
    default:
      return `Port ${port} on ${host} cannot be used (${problem}): set SPILLWAY_PORT or SPILLWAY_HOST to another.`;
  }
}

async function chosenPort(given: string | undefined): Promise<number> {
  return given === undefined || given === "" ? freePort() : Number(given);
}
