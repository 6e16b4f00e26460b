// A Postgres of our own: loopback only, a generated password, one cluster per data folder.
import { execFile } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import type { Child } from "./child";
import { lastLines, startChild } from "./child";
import { freePort } from "./free-port";
import type { PostgresPrograms } from "./postgres-programs";
import { canReach, findPostgres, giveTo, nameFor, openFolder } from "./postgres-programs";
import { keptSecret } from "./private-file";
import { stopLeftover } from "./process-table";
import { reasonOf, ServiceError } from "./service-error";
import { waitUntil } from "./wait";

export interface PostgresOptions {
  readonly dataDir: string;
  readonly port?: number;
  readonly database?: string;
  readonly logFile?: string;
  /** False for throw-away data: much faster, and lost when the machine stops. */
  readonly durable?: boolean;
  readonly say?: (line: string) => void;
}

export interface RunningPostgres {
  readonly url: string;
  readonly port: number;
  readonly child: Child;
  /** The URL of another database of the same cluster. */
  readonly urlFor: (database: string) => string;
  readonly stop: () => Promise<void>;
}

const user = "spillway";
const run = promisify(execFile);

export async function startPostgres(options: PostgresOptions): Promise<RunningPostgres> {
  const say = options.say ?? (() => undefined);
  const programs = findPostgres(say);
  mkdirSync(options.dataDir, { recursive: true });
  const passwordFile = join(options.dataDir, "password");
  const startsAnew = !existsSync(passwordFile);
  const password = keptSecret(passwordFile);
  const cluster = clusterFolder(options.dataDir, programs, say);
  await stopEarlierRun(cluster);
  if (startsAnew) setAside(cluster, say);
  if (!existsSync(join(cluster, "PG_VERSION"))) await createCluster(cluster, programs, password);

  const port = options.port ?? (await freePort());
  const logFile = options.logFile ?? join(options.dataDir, "postgres.log");
  const child = startChild({
    name: "Postgres",
    command: programs.postgres,
    args: ["-D", cluster, "-p", String(port), ...settings(options.durable ?? true)],
    // Postgres looks at its working folder, which its account must be able to enter.
    cwd: "/",
    logFile,
    // Fast shutdown: ends sessions, writes everything, no crash recovery at the next start.
    stopSignal: "SIGINT",
    account: programs.account,
  });
  const urlFor = (database: string) => `postgresql://${user}:${password}@127.0.0.1:${port}/${database}`;
  if (!(await waitUntil(() => answers(urlFor("postgres")), { timeoutMs: 60_000, giveUp: child.hasExited }))) {
    await child.stop();
    throw new ServiceError(`Postgres did not start: ${whyNot(logFile)} (log: ${logFile}).`);
  }
  const database = options.database ?? "spillway";
  await createDatabase(urlFor("postgres"), database);
  return { url: urlFor(database), port, child, urlFor, stop: child.stop };
}

function settings(durable: boolean): string[] {
  const values: Record<string, string> = {
    listen_addresses: "127.0.0.1",
    // No socket: its path has a length limit that a deep project folder exceeds.
    unix_socket_directories: "",
    max_connections: "200",
    timezone: "UTC",
    log_timezone: "UTC",
    ...(durable ? {} : { fsync: "off", synchronous_commit: "off", full_page_writes: "off" }),
  };
  return Object.entries(values).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
}

function clusterFolder(dataDir: string, programs: PostgresPrograms, say: (line: string) => void): string {
  const inside = join(dataDir, "cluster");
  const { account } = programs;
  if (account === undefined) return inside;
  if (canReach(dataDir, account)) return inside;
  const outside = join(openFolder("data"), nameFor(inside));
  if (!existsSync(outside)) say(`The user of Postgres cannot enter ${dataDir}: its data is kept in ${outside}.`);
  return outside;
}

/** A cluster without its password (its data folder was removed, itself being elsewhere) can be opened by nobody. */
function setAside(cluster: string, say: (line: string) => void): void {
  if (!existsSync(join(cluster, "PG_VERSION"))) return;
  const aside = `${cluster}.before-${new Date().toISOString().replaceAll(":", "-")}`;
  say(`The password of ${cluster} is gone, so a new database is made; the old one is kept in ${aside}.`);
  renameSync(cluster, aside);
}

async function createCluster(cluster: string, programs: PostgresPrograms, password: string): Promise<void> {
  // An interrupted initdb leaves a folder that it refuses to fill again.
  rmSync(cluster, { recursive: true, force: true });
  mkdirSync(cluster, { recursive: true });
  chmodSync(cluster, 0o700);
  giveTo(cluster, programs.account);
  // In a folder of its own that only this account can enter, and removed at once.
  const passwordFolder = `${cluster}.init`;
  mkdirSync(passwordFolder, { recursive: true, mode: 0o700 });
  const passwordFile = join(passwordFolder, "password");
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
  giveTo(passwordFolder, programs.account);
  giveTo(passwordFile, programs.account);
  const args = [
    ...[`--pgdata=${cluster}`, `--username=${user}`, "--auth=scram-sha-256", `--pwfile=${passwordFile}`],
    // The same order of text on every machine, whatever locales it has.
    ...["--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--no-instructions"],
  ];
  try {
    await run(programs.initdb, args, { cwd: "/", ...programs.account });
  } catch (error) {
    rmSync(cluster, { recursive: true, force: true });
    const { stderr } = error as { stderr?: string };
    throw new ServiceError(`Postgres could not make its data folder ${cluster}: ${stderr?.trim() ?? reasonOf(error)}`);
  } finally {
    rmSync(passwordFolder, { recursive: true, force: true });
  }
}

/** A run that was killed leaves its Postgres behind; two on one cluster would be refused by the second. */
async function stopEarlierRun(cluster: string): Promise<void> {
  const pidFile = join(cluster, "postmaster.pid");
  if (!existsSync(pidFile)) return;
  const pid = Number(readFileSync(pidFile, "utf8").split("\n")[0]);
  if (Number.isInteger(pid) && pid > 1) await stopLeftover(pid, cluster, "SIGINT");
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
  client.on("error", () => undefined);
  try {
    await client.connect();
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function createDatabase(adminUrl: string, database: string): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl });
  await client.connect();
  try {
    const found = await client.query("select 1 from pg_database where datname = $1", [database]);
    if (found.rowCount === 0) await client.query(`create database ${client.escapeIdentifier(database)}`);
  } finally {
    await client.end();
  }
}

function whyNot(logFile: string): string {
  const lines = lastLines(logFile, 20);
  const telling = lines.findLast((line) => /FATAL|PANIC|error/i.test(line)) ?? lines.at(-1);
  return telling?.replace(/^.*?(FATAL|PANIC):\s*/, "").trim() ?? `nothing was written to ${dirname(logFile)}`;
}
