/**
 * The control plane of this process: built once, kept on `globalThis` because Next's bundle and the host are two module
 * graphs. The connection fails at once instead of queueing: a write never waits for Redis, the outbox heals it.
 */
import { webEnv } from "@/lib/config/env";
import type { ControlDeps } from "@/lib/control/deps";
import { getDb } from "@/lib/db/client";
import { systemClock } from "@/lib/domain/clock";
import { connectHot } from "@/lib/redis/client";
import { createLogger } from "@/lib/telemetry/logger";

/** The settings it needs; the environments of web and worker both have them. */
export interface ControlEnv {
  readonly DATABASE_URL: string;
  readonly REDIS_URL: string;
  /** 32 bytes in base64. */
  readonly SPILLWAY_MASTER_KEY: string;
  readonly SPILLWAY_KEY_PEPPER: string;
  readonly LOG_LEVEL: string;
}

const processWide = globalThis as typeof globalThis & { spillwayControl?: ControlDeps };

/** The one instance of this process. `env` is read at the first call only; the worker passes its own. */
export function getControl(env: () => ControlEnv = webEnv): ControlDeps {
  processWide.spillwayControl ??= createControl(env());
  return processWide.spillwayControl;
}

function createControl(env: ControlEnv): ControlDeps {
  const log = createLogger({ name: "control", level: env.LOG_LEVEL });
  return {
    db: getDb(env.DATABASE_URL),
    redis: connectHot(env.REDIS_URL, { name: "spillway-control" }).redis,
    clock: systemClock,
    masterKey: Buffer.from(env.SPILLWAY_MASTER_KEY, "base64"),
    pepper: Buffer.from(env.SPILLWAY_KEY_PEPPER, "base64"),
    onPublishFailure: (organisationId, error) => {
      log.warn({ organisationId, err: error }, "a change waits in the outbox: Redis did not take it");
    },
  };
}
