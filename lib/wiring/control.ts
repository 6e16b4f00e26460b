/**
 * The control plane of this process: built once, kept on `globalThis` because Next's bundle and the host are two module
 * graphs. The connection fails at once instead of queueing: a write never waits for Redis, the outbox heals it.
 */
import { outboundAllowList, webEnv } from "@/lib/config/env";
import type { WebEnv } from "@/lib/config/env";
import type { ControlDeps } from "@/lib/control/deps";
import { getDb } from "@/lib/db/client";
import { systemClock } from "@/lib/domain/clock";
import { connectHot } from "@/lib/redis/client";
import { createLogger } from "@/lib/telemetry/logger";
import { createOutbound } from "./outbound";

/** The settings it needs; the environments of web and worker both have them. */
type ControlEnv = Parameters<typeof outboundAllowList>[0] &
  Pick<WebEnv, "DATABASE_URL" | "REDIS_URL" | "SPILLWAY_MASTER_KEY" | "SPILLWAY_KEY_PEPPER" | "LOG_LEVEL">;

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
    outbound: createOutbound(outboundAllowList(env)),
    onPublishFailure: (organisationId, error) => {
      log.warn({ organisationId, err: error }, "a change waits in the outbox: Redis did not take it");
    },
  };
}
