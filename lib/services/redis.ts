// A Redis of our own: loopback only, a generated password, never evicting (a counter that vanishes is money lost).
import { mkdirSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Redis } from "ioredis";
import type { Child } from "./child";
import { lastLines, startChild } from "./child";
import { freePort } from "./free-port";
import { keptSecret, writePrivateFile } from "./private-file";
import { stopLeftover } from "./process-table";
import { findRedis } from "./redis-program";
import { ServiceError } from "./service-error";
import { waitUntil } from "./wait";

export interface RedisOptions {
  readonly dataDir: string;
  readonly port?: number;
  /** Keep every write in a file, flushed each second. False for throw-away data. */
  readonly appendonly?: boolean;
  /** Number of logical databases: tests take one per worker. */
  readonly databases?: number;
  readonly logFile?: string;
  readonly say?: (line: string) => void;
}

export interface RunningRedis {
  readonly url: string;
  readonly port: number;
  readonly child: Child;
  /** The URL of another logical database of the same server. */
  readonly urlFor: (database: number) => string;
  readonly stop: () => Promise<void>;
}

export async function startRedis(options: RedisOptions): Promise<RunningRedis> {
  const program = findRedis(options.say ?? (() => undefined));
  mkdirSync(options.dataDir, { recursive: true });
  const password = keptSecret(join(options.dataDir, "password"));
  const configFile = join(options.dataDir, "redis.conf");
  await stopEarlierRun(options.dataDir, configFile);

  const port = options.port ?? (await freePort());
  // In a file and not on the command line, which every user of the machine can read.
  writePrivateFile(configFile, configuration(options, port, password));
  const logFile = options.logFile ?? join(options.dataDir, "redis.log");
  const child = startChild({
    name: "Redis",
    command: program.command,
    args: [configFile],
    cwd: options.dataDir,
    logFile,
    ...(program.libraryPath === undefined ? {} : { env: { ...process.env, LD_LIBRARY_PATH: program.libraryPath } }),
  });
  writePrivateFile(join(options.dataDir, "redis.pid"), `${child.pid}\n`);
  const urlFor = (database: number) => `redis://:${password}@127.0.0.1:${port}/${database}`;
  if (!(await waitUntil(() => answers(urlFor(0)), { timeoutMs: 60_000, giveUp: child.hasExited }))) {
    await child.stop();
    throw new ServiceError(`Redis did not start: ${lastLines(logFile, 1)[0] ?? "it wrote nothing"} (log: ${logFile}).`);
  }
  return { url: urlFor(0), port, child, urlFor, stop: child.stop };
}

function configuration(options: RedisOptions, port: number, password: string): string {
  const lasting = options.appendonly ?? true;
  return [
    "bind 127.0.0.1",
    `port ${port}`,
    "protected-mode yes",
    `requirepass ${password}`,
    `dir ${JSON.stringify(options.dataDir)}`,
    `databases ${options.databases ?? 16}`,
    `appendonly ${lasting ? "yes" : "no"}`,
    "appendfsync everysec",
    'save ""',
    "maxmemory-policy noeviction",
    "daemonize no",
    "",
  ].join("\n");
}

/** A run that was killed may have left its server behind, and two must never write one append-only file. */
async function stopEarlierRun(dataDir: string, configFile: string): Promise<void> {
  const pidFile = join(dataDir, "redis.pid");
  if (!existsSync(pidFile)) return;
  const pid = Number(readFileSync(pidFile, "utf8").trim());
  if (!Number.isInteger(pid) || pid <= 1) return;
  // Redis rewrites its own command line to show its port; older ones keep the file name.
  const { port } = /^port (?<port>\d+)$/m.exec(readIfThere(configFile))?.groups ?? {};
  if (port !== undefined && (await stopLeftover(pid, `127.0.0.1:${port}`, "SIGTERM"))) return;
  await stopLeftover(pid, configFile, "SIGTERM");
}

function readIfThere(file: string): string {
  return existsSync(file) ? readFileSync(file, "utf8") : "";
}

async function answers(url: string): Promise<boolean> {
  const client = new Redis(url, { lazyConnect: true, retryStrategy: () => null, connectTimeout: 2_000 });
  client.on("error", () => undefined);
  try {
    await client.connect();
    return (await client.ping()) === "PONG";
  } catch {
    return false;
  } finally {
    client.disconnect();
  }
}
