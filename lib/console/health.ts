/** Whether the web process can do its work: console and gateway. Says what is away, and nothing about why. */
import { listOrganisationIds } from "@/lib/db/counter-sources";
import { getConsoleServices } from "@/lib/wiring/console";

export interface Health {
  readonly ready: boolean;
  readonly checks: {
    readonly postgres: "up" | "down";
    readonly redis: "up" | "down";
    /** Missing: not every organisation stands in Redis (yet), and calls are refused for it. */
    readonly snapshot: "published" | "missing" | "unknown";
  };
  /** Usage that waits to be booked, over all organisations; null where a store is away. Lag does not make us unready. */
  readonly usage: { readonly waiting: number; readonly oldestAgeMs: number | null } | null;
}

export async function readHealth(services = getConsoleServices()): Promise<Health> {
  const { db, ping, isPublished, readBacklog } = services;
  const { postgres, redis } = await ping();
  const published = redis ? await isPublished() : null;
  const hasStores = postgres && redis;
  return {
    ready: hasStores && published === true,
    checks: {
      postgres: postgres ? "up" : "down",
      redis: redis ? "up" : "down",
      snapshot: published === null ? "unknown" : published ? "published" : "missing",
    },
    usage: hasStores ? await readBacklog(await listOrganisationIds(db.pool)) : null,
  };
}
