/** Locks between processes, held by a connection: a process that dies lets go by dying. */
import type { SqlClient, SqlPool } from "./pool";
import { withSqlTransaction } from "./pool";

/** Namespaces of our advisory locks. */
export const LOCKS = { recovery: 7270933, reconcile: 7270934, booking: 7270935, founding: 7270936 } as const;

/**
 * Runs `work` while holding the lock of this name; resolves with null, without running it, where another process holds
 * it. Holds one connection of the pool meanwhile.
 */
export async function withAdvisoryLock<T>(
  pool: SqlPool,
  namespace: number,
  name: string,
  work: () => Promise<T>,
): Promise<T | null> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    const result = await client.query<{ locked: boolean }>(`SELECT pg_try_advisory_lock($1, hashtext($2)) AS locked`, [
      namespace,
      name,
    ]);
    if (result.rows[0]?.locked !== true) return null;
    try {
      return await work();
    } finally {
      await client.query(`SELECT pg_advisory_unlock($1, hashtext($2))`, [namespace, name]).catch((error: unknown) => {
        broken = error instanceof Error ? error : new Error(String(error));
      });
    }
  } finally {
    client.release(broken);
  }
}

/** Takes the lock together with others of its kind until the transaction of `client` ends; waits for an exclusive holder. */
export async function shareAdvisoryLock(client: SqlClient, namespace: number, name: string): Promise<void> {
  await client.query(`SELECT pg_advisory_xact_lock_shared($1, hashtext($2))`, [namespace, name]);
}

/** Runs `work` once every sharer has let go, and while none may begin. Holds one connection of the pool meanwhile. */
export async function withExclusiveLock<T>(
  pool: SqlPool,
  namespace: number,
  name: string,
  work: () => Promise<T>,
): Promise<T> {
  return withSqlTransaction(pool, async (client) => {
    await client.query(`SELECT pg_advisory_xact_lock($1, hashtext($2))`, [namespace, name]);
    return work();
  });
}
