/** What every bookkeeping use case works with. */
import type { Db } from "@/lib/db/client";
import type { Clock } from "@/lib/domain/clock";
import type { HotConnection } from "@/lib/redis/client";
import type { Logger } from "@/lib/telemetry/logger";

export interface BookkeepingDeps {
  readonly db: Db;
  /** Carries scripts that are fenced by run id: never sends a command twice by itself. */
  readonly store: HotConnection;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The UTC day under which the Redis book counts a call: that of its reservation, as the rollups do. */
export function bookDay(reservedAtMs: number): string {
  return new Date(reservedAtMs).toISOString().slice(0, 10);
}
