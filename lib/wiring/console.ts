/**
 * What the console reads from: Postgres, and the live counters in Redis. Use cases (writes) come from ./control.
 * Process-wide: Next's bundle and the host are two module graphs, so the one instance hangs on `globalThis`.
 */
import { webEnv } from "@/lib/config/env";
import { getDb } from "@/lib/db/client";
import type { Db } from "@/lib/db/client";
import { systemClock } from "@/lib/domain/clock";
import type { Clock } from "@/lib/domain/clock";
import { connectPatient } from "@/lib/redis/client";
import { readCounters } from "@/lib/redis/counters";
import type { CounterRef, LiveCounter } from "@/lib/redis/counters";
import { isPublishedOn } from "@/lib/redis/publication";
import { isUnfenced, readBacklog } from "@/lib/redis/standing";
import type { StreamBacklog } from "@/lib/redis/standing";
import { createLogger } from "@/lib/telemetry/logger";
import { clearSignInFailures, maySignIn, recordSignInFailure } from "@/lib/redis/sign-in-attempts";
import type { SignInAttempt } from "@/lib/redis/sign-in-attempts";

const REDIS_PATIENCE_MS = 1_500;

export interface ConsoleServices {
  readonly db: Db;
  readonly clock: Clock;
  /** null when Redis cannot answer in time: the caller falls back to the ledger and says so. */
  readonly readCounters: (
    organisationId: string,
    refs: readonly CounterRef[],
  ) => Promise<(LiveCounter | null)[] | null>;
  readonly signInAttempts: {
    /** Where Redis is away sign-in goes on: the console must not be locked by the loss of a counter. */
    readonly mayTry: (attempt: SignInAttempt) => Promise<boolean>;
    readonly failed: (attempt: SignInAttempt) => Promise<void>;
    readonly succeeded: (attempt: SignInAttempt) => Promise<void>;
  };
  /** Notes a failure of ours. */
  readonly report: (error: unknown, requestId: string) => void;
  /** Ends the Redis connection; the database closes with the process. */
  readonly close: () => Promise<void>;
  /** Whether gateways may serve the organisation; false also where Redis cannot say so. */
  readonly isUnfenced: (organisationId: string) => Promise<boolean>;
  /** What waits to be booked in the streams of these organisations; null when Redis cannot answer in time. */
  readonly readBacklog: (organisationIds: readonly string[]) => Promise<StreamBacklog | null>;
  /** For readiness. */
  readonly ping: () => Promise<{ readonly postgres: boolean; readonly redis: boolean }>;
  /** Whether every organisation stands in Redis; null where that cannot answer in time. */
  readonly isPublished: () => Promise<boolean | null>;
}

const processWide = globalThis as typeof globalThis & { spillwayConsole?: ConsoleServices };

export function getConsoleServices(): ConsoleServices {
  processWide.spillwayConsole ??= createConsoleServices(webEnv().DATABASE_URL, webEnv().REDIS_URL, {
    logLevel: webEnv().LOG_LEVEL,
  });
  return processWide.spillwayConsole;
}

/** Rejects after the patience, so that a hanging server never holds a page. */
function soon<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("no answer in time")), REDIS_PATIENCE_MS);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** For tests, which bring their own servers. */
export function createConsoleServices(
  databaseUrl: string,
  redisUrl: string,
  options: { readonly logLevel?: string; readonly clock?: Clock } = {},
): ConsoleServices {
  const db = getDb(databaseUrl);
  const redis = connectPatient(redisUrl, "spillway-console");
  const logger = createLogger({ name: "console", level: options.logLevel ?? "info" });
  return {
    db,
    clock: options.clock ?? systemClock,
    readCounters: (organisationId, refs) => soon(readCounters(redis, organisationId, refs)).catch(() => null),
    signInAttempts: {
      mayTry: (attempt) => soon(maySignIn(redis, attempt)).catch(() => true),
      failed: (attempt) => soon(recordSignInFailure(redis, attempt)).catch(() => undefined),
      succeeded: (attempt) => soon(clearSignInFailures(redis, attempt)).catch(() => undefined),
    },
    report: (error, requestId) => logger.error({ err: error, requestId }, "console request failed"),
    isUnfenced: (organisationId) => soon(isUnfenced(redis, organisationId)).catch(() => false),
    readBacklog: (organisationIds) => soon(readBacklog(redis, organisationIds)).catch(() => null),
    close: async () => {
      redis.disconnect();
    },
    isPublished: () => soon(isPublishedOn(redis)).catch(() => null),
    ping: async () => {
      const [postgres, counters] = await Promise.allSettled([soon(db.pool.query("SELECT 1")), soon(redis.ping())]);
      return { postgres: postgres.status === "fulfilled", redis: counters.status === "fulfilled" };
    },
  };
}
