// What every test of the bookkeeping starts from: deps on the test servers, and a whole stream booked.
import { closeDb } from "@/lib/db/client";
import type { BookkeepingDeps } from "@/lib/control/bookkeeping";
import type { RecoveryDeps } from "@/lib/control/recovery";
import { applyCorrections, bookEntries } from "@/lib/control/settlement";
import { peekUsage, removeBooked } from "@/lib/redis/usage-stream";
import type { StreamEntry } from "@/lib/redis/usage-stream";
import type { UsageEvent } from "@/lib/domain/usage-event";
import { recoveryDeps } from "./reservations";
import { testDatabaseUrl, testRedisUrl } from "./services";
import { bookkeepingDeps } from "./usage-events";

export interface BookkeepingBench {
  readonly deps: RecoveryDeps;
  /** Given back by `beforeAll`, it runs after the tests. */
  readonly close: () => Promise<void>;
}

export async function openBookkeeping(): Promise<BookkeepingBench> {
  const databaseUrl = await testDatabaseUrl();
  const deps = recoveryDeps(await bookkeepingDeps(databaseUrl, testRedisUrl()));
  const close = async (): Promise<void> => {
    await deps.store.close();
    await closeDb(databaseUrl);
  };
  return { deps, close };
}

/** Books what stands in the stream, as a worker does, and lets the counters follow. */
export async function bookAll(deps: BookkeepingDeps, organisationId: string): Promise<void> {
  const entries = await peekUsage(deps.store.redis, organisationId, 1000);
  const result = await bookEntries(deps, organisationId, entries);
  await removeBooked(
    deps.store.redis,
    organisationId,
    entries.map((entry) => entry.id),
    result.dead,
  );
  await applyCorrections(deps, organisationId);
}

let nextId = 1;

/** An entry as it would stand in the stream; a text is taken as it is. */
export function streamEntry(event: UsageEvent | string, kind = "settled"): StreamEntry {
  nextId += 1;
  const eventJson = typeof event === "string" ? event : JSON.stringify(event);
  return { id: `${Date.now()}-${nextId}`, kind, eventJson };
}
