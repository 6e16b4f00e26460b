/**
 * The one pool of Postgres connections of a process, shared by Prisma and by bulk SQL. It hangs on `globalThis`,
 * because Next's bundle and the host are two module graphs and two pools would double the connections.
 */
import pg from "pg";

export type SqlPool = pg.Pool;
/** What bulk SQL needs: the pool itself or one client taken from it for a transaction. */
export type SqlClient = Pick<pg.ClientBase, "query">;

const MAX_CONNECTIONS = 10;
const CONNECT_TIMEOUT_MS = 5_000;
const STATEMENT_TIMEOUT_MS = 60_000;

const processWide = globalThis as typeof globalThis & { spillwayPools?: Map<string, SqlPool> };

/**
 * The pool for this database, made on first use. Sessions run in UTC, so that text of times means the same everywhere.
 * `bigint` columns arrive as text (pg's default): convert with `BigInt`, never with `Number`.
 */
export function getPool(databaseUrl: string): SqlPool {
  processWide.spillwayPools ??= new Map();
  const known = processWide.spillwayPools.get(databaseUrl);
  if (known !== undefined) return known;
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    max: MAX_CONNECTIONS,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    options: "-c timezone=UTC",
    application_name: "spillway",
  });
  // An idle connection that breaks is replaced by the next query; without a listener Node would end the process.
  pool.on("error", () => undefined);
  processWide.spillwayPools.set(databaseUrl, pool);
  return pool;
}

/** Runs `work` in one transaction on one connection; rolls back and rethrows when it throws. */
export async function withSqlTransaction<T>(pool: SqlPool, work: (client: SqlClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    await client.query("BEGIN");
    const result = await work(client);
    await client.query("COMMIT");
    return result;
  } catch (error) {
    await client.query("ROLLBACK").catch((failure: unknown) => {
      broken = failure instanceof Error ? failure : new Error(String(failure));
    });
    throw error;
  } finally {
    // A connection that could not roll back is thrown away, never handed to the next caller inside a transaction.
    client.release(broken);
  }
}

/** Closes the pool of this database; the next `getPool` opens a new one. */
export async function closePool(databaseUrl: string): Promise<void> {
  const pool = processWide.spillwayPools?.get(databaseUrl);
  processWide.spillwayPools?.delete(databaseUrl);
  await pool?.end();
}
