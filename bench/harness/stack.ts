/**
 * What a bench measures: Postgres, Redis, the sandbox, gateway processes and the worker, each a process of its own on a
 * free port, with throw-away data and freshly bundled programs, so that no run meets what another left behind.
 */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { ControlDeps } from "@/lib/control/deps";
import type { RecoveryDeps } from "@/lib/control/recovery";
import { publishAll } from "@/lib/control/snapshots";
import { closeDb } from "@/lib/db/client";
import { systemClock } from "@/lib/domain/clock";
import { connectHot } from "@/lib/redis/client";
import type { HotConnection } from "@/lib/redis/client";
import { freePort } from "@/lib/services/free-port";
import { removeAtEnd } from "@/lib/services/leash";
import { startPostgres } from "@/lib/services/postgres";
import { startRedis } from "@/lib/services/redis";
import { nodeArgsOf } from "@/lib/services/node-args";
import { throwAwayFolder } from "@/lib/services/throw-away";
import { waitUntil } from "@/lib/services/wait";
import { createLogger } from "@/lib/telemetry/logger";
import { createTestControl, TEST_MASTER_KEY, TEST_PEPPER } from "@/lib/testing/factories";
import { bundleOf, bundleWorkers } from "@/scripts/build/build";
import { migrate } from "@/scripts/migrate";
import type { BenchSession } from "./session";
import { measured, startMeasured } from "./measured-process";
import type { MeasuredProcess } from "./measured-process";

export interface StackOptions {
  /** Gateway processes, default 3. */
  readonly gateways?: number;
  /** Default true. */
  readonly worker?: boolean;
  /** Arguments of Node itself for every gateway process. */
  readonly gatewayNodeArgs?: readonly string[];
  readonly workerNodeArgs?: readonly string[];
  /** Added to the environment of every process. */
  readonly env?: Readonly<Record<string, string>>;
  /** Further entries to bundle, for `startProgram`. */
  readonly programs?: readonly string[];
}

/** What one process meets that others do not. */
export interface Conditions {
  readonly env?: Readonly<Record<string, string>>;
  /** Files that it writes may become so long, in KiB; what is written beyond that fails as on a full disk. */
  readonly maxFileKib?: number;
}

export interface BenchStack {
  readonly folder: string;
  readonly databaseUrl: string;
  readonly redisUrl: string;
  readonly redisFolder: string;
  readonly control: ControlDeps;
  readonly books: RecoveryDeps;
  readonly store: HotConnection;
  readonly postgres: MeasuredProcess;
  readonly redis: MeasuredProcess;
  readonly sandbox: MeasuredProcess;
  readonly gateways: readonly MeasuredProcess[];
  readonly worker: MeasuredProcess | undefined;
  startGateway(name: string, nodeArgs?: readonly string[], conditions?: Conditions): Promise<MeasuredProcess>;
  startWorker(nodeArgs?: readonly string[]): Promise<MeasuredProcess>;
  /** One of `programs`; it listens on `SPILLWAY_PORT`. */
  startProgram(name: string, entry: string, env: Readonly<Record<string, string>>): Promise<MeasuredProcess>;
}

const ROOT = join(import.meta.dirname, "..", "..");
const GATEWAY = "workers/gateway-server.ts";
const SANDBOX = "workers/sandbox-server.ts";
const WORKER = "workers/main.ts";

interface Launcher {
  readonly folder: string;
  readonly bundles: string;
  readonly env: NodeJS.ProcessEnv;
  readonly session: BenchSession;
}

/** Bundles `entries` into a folder inside the project (that is how they find node_modules) that goes with this run. */
export async function bundleForRun(entries: readonly string[]): Promise<string> {
  const folder = join("dist", `bench-${String(process.pid)}`);
  removeAtEnd(join(ROOT, folder));
  await bundleWorkers(ROOT, [...entries], folder);
  return join(ROOT, folder);
}

/** Where a bundled entry stands. */
export function programIn(bundles: string, entry: string): string {
  return join(bundles, bundleOf(entry).slice("dist/".length));
}

async function launch(
  { folder, bundles, env, session }: Launcher,
  name: string,
  entry: string,
  nodeArgs: readonly string[] = [],
  { env: ownEnv, maxFileKib }: Conditions = {},
): Promise<MeasuredProcess> {
  const port = String(await freePort());
  const ports = { SPILLWAY_PORT: port, WORKER_PORT: port, SANDBOX_PORT: port };
  const args = [...nodeArgsOf(entry), ...nodeArgs, programIn(bundles, entry)];
  const limited = ["-c", `ulimit -f ${String(maxFileKib)} && exec "$0" "$@"`, process.execPath, ...args];
  const options = {
    name,
    ...(maxFileKib === undefined ? { command: process.execPath, args } : { command: "bash", args: limited }),
    cwd: folder,
    env: { ...env, ...ports, ...ownEnv },
    logFile: join(folder, "logs", `${name}.log`),
  };
  const running = await startMeasured(options, `http://127.0.0.1:${port}`);
  session.stops.add(running.child.stop);
  return running;
}

function environment(databaseUrl: string, redisUrl: string, folder: string): NodeJS.ProcessEnv {
  return {
    PATH: process.env.PATH,
    HOME: folder,
    NODE_ENV: "production",
    LOG_LEVEL: process.env.BENCH_LOG_LEVEL ?? "warn",
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    SPILLWAY_MASTER_KEY: TEST_MASTER_KEY.toString("base64"),
    SPILLWAY_KEY_PEPPER: TEST_PEPPER.toString("base64"),
    SPILLWAY_DATA_DIR: folder,
    SPILLWAY_HOST: "127.0.0.1",
    SPILLWAY_OUTBOUND_ALLOW: "127.0.0.1",
    NEXTAUTH_SECRET: randomBytes(32).toString("base64"),
  };
}

async function startServices(session: BenchSession, folder: string) {
  const postgres = await startPostgres({ dataDir: join(folder, "postgres"), durable: false });
  session.stops.add(postgres.stop);
  const redis = await startRedis({ dataDir: join(folder, "redis"), appendonly: true });
  session.stops.add(redis.stop);
  await migrate(postgres.url);
  return { postgres, redis };
}

async function connectBooks(session: BenchSession, databaseUrl: string, redisUrl: string) {
  const control = createTestControl(databaseUrl, redisUrl);
  const store = connectHot(redisUrl, { name: "spillway-bench" });
  session.stops.add(async () => {
    await store.close();
    await control.close();
    await closeDb(databaseUrl);
  });
  await waitUntil(() => store.runId() !== undefined, { timeoutMs: 5_000, everyMs: 5 });
  const books: RecoveryDeps = {
    db: control.db,
    store,
    clock: systemClock,
    log: createLogger({ name: "bench", level: "silent" }),
    publish: async (organisationId, options) => {
      await publishAll(control, organisationId, options);
    },
  };
  return { control, store, books };
}

/** Brings everything up. What is up is on the session's stop list, so a failure half-way leaves nothing running. */
export async function startBenchStack(session: BenchSession, options: StackOptions = {}): Promise<BenchStack> {
  const folder = throwAwayFolder("spillway-bench");
  session.say(`starting Postgres, Redis and the programs (data and logs in ${folder})`);
  const entries = [GATEWAY, SANDBOX, WORKER, ...(options.programs ?? [])];
  const [{ postgres, redis }, bundles] = await Promise.all([startServices(session, folder), bundleForRun(entries)]);
  const env = { ...environment(postgres.url, redis.url, folder), ...options.env };
  const launcher: Launcher = { folder, bundles, env, session };
  const { control, store, books } = await connectBooks(session, postgres.url, redis.url);
  const sandbox = await launch(launcher, "sandbox", SANDBOX);
  const nodeArgs = options.gatewayNodeArgs ?? [];
  const names = Array.from({ length: options.gateways ?? 3 }, (_, index) => `gateway-${String(index + 1)}`);
  const gateways = await Promise.all(names.map((name) => launch(launcher, name, GATEWAY, nodeArgs)));
  const startWorker = (args = options.workerNodeArgs) => launch(launcher, "worker", WORKER, args);
  const worker = options.worker === false ? undefined : await startWorker();
  return {
    folder,
    databaseUrl: postgres.url,
    redisUrl: redis.url,
    redisFolder: join(folder, "redis"),
    control,
    books,
    store,
    postgres: measured(postgres.child, ""),
    redis: measured(redis.child, ""),
    sandbox,
    gateways,
    worker,
    startGateway: (name, args = nodeArgs, conditions) => launch(launcher, name, GATEWAY, args, conditions),
    startWorker,
    startProgram: (name, entry, extra) => launch({ ...launcher, env: { ...env, ...extra } }, name, entry),
  };
}
