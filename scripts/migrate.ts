// Applies prisma/migrations to a database without Prisma's native engine (which cannot be had on a closed network), keeping
// Prisma's own books, so that `prisma migrate status` and `deploy` agree afterwards. One transaction per file.
import { createHash, randomUUID } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import pg from "pg";
import { reasonOf, ServiceError } from "@/lib/services/service-error";

export interface Migration {
  readonly name: string;
  readonly sql: string;
  readonly checksum: string;
}

interface AppliedMigration {
  readonly name: string;
  readonly checksum: string;
  readonly finished: boolean;
}

/** The lock that Prisma takes for the same work: the two never run at once. */
const advisoryLock = 72_707_369;

const books = `
  create table if not exists _prisma_migrations (
    id                  varchar(36) primary key not null,
    checksum            varchar(64) not null,
    finished_at         timestamptz,
    migration_name      varchar(255) not null,
    logs                text,
    rolled_back_at      timestamptz,
    started_at          timestamptz not null default now(),
    applied_steps_count integer not null default 0
  )`;

export function readMigrations(folder: string): Migration[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && existsSync(join(folder, entry.name, "migration.sql")))
    .map((entry) => entry.name)
    .sort()
    .map((name) => {
      const sql = readFileSync(join(folder, name, "migration.sql"), "utf8");
      return { name, sql, checksum: createHash("sha256").update(sql).digest("hex") };
    });
}

/** Which migrations are still to be applied; history that does not match the files is an error, never a guess. */
export function pendingMigrations(files: readonly Migration[], applied: readonly AppliedMigration[]): Migration[] {
  for (const row of applied) {
    const file = files.find((candidate) => candidate.name === row.name);
    if (!row.finished) {
      throw new ServiceError(
        `Migration ${row.name} failed half-way earlier: mend the database, then resolve it with Prisma.`,
      );
    }
    if (file === undefined) {
      throw new ServiceError(`The database has migration ${row.name}, which this version of Spillway does not know.`);
    }
    if (file.checksum !== row.checksum) {
      throw new ServiceError(`Migration ${row.name} was edited after it was applied: write a new migration instead.`);
    }
  }
  const names = new Set(applied.map((row) => row.name));
  return files.filter((file) => !names.has(file.name));
}

/** A connection, or the one sentence that says why there is none. */
export async function openDatabase(databaseUrl: string): Promise<pg.Client> {
  if (!/^postgres(ql)?:\/\//.test(databaseUrl) || !URL.canParse(databaseUrl)) {
    throw new ServiceError("DATABASE_URL is not an address like postgresql://user:password@host:5432/spillway.");
  }
  const client = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: 10_000 });
  client.on("error", () => undefined);
  try {
    await client.connect();
  } catch (error) {
    throw new ServiceError(`The database of DATABASE_URL cannot be reached: ${reasonOf(error)}.`, { cause: error });
  }
  return client;
}

/** Brings the database up to date and returns the names of the migrations that this took. */
export async function migrate(databaseUrl: string, folder = migrationsFolder()): Promise<string[]> {
  const client = await openDatabase(databaseUrl);
  try {
    await client.query("select pg_advisory_lock($1)", [advisoryLock]);
    await client.query(books);
    const pending = pendingMigrations(readMigrations(folder), await appliedMigrations(client));
    for (const migration of pending) await apply(client, migration);
    return pending.map((migration) => migration.name);
  } finally {
    // Ending the session gives the lock back as well.
    await client.end();
  }
}

function migrationsFolder(): string {
  return join(import.meta.dirname, "..", "prisma", "migrations");
}

async function appliedMigrations(client: pg.Client): Promise<AppliedMigration[]> {
  const { rows } = await client.query<AppliedMigration>(
    `select migration_name as name, checksum, finished_at is not null as finished
       from _prisma_migrations where rolled_back_at is null order by started_at`,
  );
  return rows;
}

async function apply(client: pg.Client, migration: Migration): Promise<void> {
  await client.query("begin");
  try {
    await client.query(migration.sql);
    await client.query(
      `insert into _prisma_migrations (id, checksum, finished_at, migration_name, applied_steps_count)
       values ($1, $2, now(), $3, 1)`,
      [randomUUID(), migration.checksum, migration.name],
    );
    await client.query("commit");
  } catch (error) {
    await client.query("rollback").catch(() => undefined);
    throw new ServiceError(`Migration ${migration.name} could not be applied: ${reasonOf(error)}.`, { cause: error });
  }
}

async function main(): Promise<void> {
  const databaseUrl = process.env["DATABASE_URL"];
  if (databaseUrl === undefined || databaseUrl === "") throw new ServiceError("DATABASE_URL is not set.");
  const applied = await migrate(databaseUrl);
  console.log(applied.length === 0 ? "The database is up to date." : `Applied ${applied.join(", ")}.`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  main().catch((error: unknown) => {
    console.error(reasonOf(error));
    process.exitCode = 1;
  });
}
