/**
 * The Prisma client, one per process and database. Callers outside lib/db hold a `Db` or a `Tx` and hand it to the
 * functions of this folder; they never call Prisma themselves.
 */
import { PrismaPg } from "@prisma/adapter-pg";
import { PrismaClient } from "./generated/client";
import type { Prisma } from "./generated/client";
import { closePool, getPool } from "./pool";
import type { SqlPool } from "./pool";

/** A database to read from or to open transactions on. `pool` is for bulk SQL. */
export interface Db {
  readonly prisma: PrismaClient;
  readonly pool: SqlPool;
  readonly url: string;
}

/** What repository functions take: an open transaction, or the client itself for single statements. */
export type Tx = Prisma.TransactionClient;

export interface TransactionOptions {
  /** Default "ReadCommitted". "RepeatableRead" gives one consistent view to all reads. */
  readonly isolation?: "ReadCommitted" | "RepeatableRead";
  /** Default 15,000. */
  readonly timeoutMs?: number;
}

const MAX_WAIT_MS = 10_000;
const TRANSACTION_TIMEOUT_MS = 15_000;

const processWide = globalThis as typeof globalThis & { spillwayDatabases?: Map<string, Db> };

/** The database behind this URL, connected on first use. */
export function getDb(databaseUrl: string): Db {
  processWide.spillwayDatabases ??= new Map();
  const known = processWide.spillwayDatabases.get(databaseUrl);
  if (known !== undefined) return known;
  const pool = getPool(databaseUrl);
  const db: Db = { prisma: new PrismaClient({ adapter: new PrismaPg(pool) }), pool, url: databaseUrl };
  processWide.spillwayDatabases.set(databaseUrl, db);
  return db;
}

/** Runs `work` in one transaction; everything or nothing is kept. */
export function inTransaction<T>(db: Db, work: (tx: Tx) => Promise<T>, options: TransactionOptions = {}): Promise<T> {
  return db.prisma.$transaction(work, {
    isolationLevel: options.isolation ?? "ReadCommitted",
    maxWait: MAX_WAIT_MS,
    timeout: options.timeoutMs ?? TRANSACTION_TIMEOUT_MS,
  });
}

/** Ends every connection of this database. */
export async function closeDb(databaseUrl: string): Promise<void> {
  const db = processWide.spillwayDatabases?.get(databaseUrl);
  processWide.spillwayDatabases?.delete(databaseUrl);
  await db?.prisma.$disconnect();
  await closePool(databaseUrl);
}
