/** Whether the web process can do its work. Says which store is away, and nothing about why. */
import { listOrganisationIds } from "@/lib/db/counter-sources";
import { getConsoleServices } from "@/lib/wiring/console";

export interface Health {
  readonly ready: boolean;
  readonly checks: { readonly postgres: "up" | "down"; readonly redis: "up" | "down" };
  /** Usage that waits to be booked, over all organisations; null where a store is away. Lag does not make us unready. */
  readonly usage: { readonly waiting: number; readonly oldestAgeMs: number | null } | null;
}

export async function readHealth(): Promise<Health> {
  const { db, ping, readBacklog } = getConsoleServices();
  const { postgres, redis } = await ping();
  const ready = postgres && redis;
  return {
    ready,
    checks: { postgres: postgres ? "up" : "down", redis: redis ? "up" : "down" },
    usage: ready ? await readBacklog(await listOrganisationIds(db.pool)) : null,
  };
}
