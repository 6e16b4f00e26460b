/** Composition root of the worker process and of the bookkeeping commands. */
import { verifyRequestTag } from "@/lib/config/request-tag";
import { outboundAllowList } from "@/lib/config/env";
import type { WorkerEnv } from "@/lib/config/env";
import { JobKeeper } from "@/lib/control/job-keeper";
import type { JobDeps } from "@/lib/control/job-steps";
import type { DeferredDeps } from "@/lib/control/deferred-calls";
import type { WebhookDeps } from "@/lib/control/webhook-deliveries";
import type { ReconcileDeps } from "@/lib/control/reconciliation";
import type { RecoveryDeps } from "@/lib/control/recovery";
import { drainChanges, publishAll } from "@/lib/control/snapshots";
import type { DrainResult } from "@/lib/control/snapshots";
import { listOrganisationIds } from "@/lib/db/counter-sources";
import { closeDb, getDb } from "@/lib/db/client";
import type { Db } from "@/lib/db/client";
import { systemClock } from "@/lib/domain/clock";
import { fetchBillPage } from "@/lib/providers/bill";
import type { HotConnection } from "@/lib/redis/client";
import { connectHot, connectPatient } from "@/lib/redis/client";
import { beforeDeadline } from "@/lib/redis/deadline";
import { isPublished } from "@/lib/redis/publication";
import { DeferredBoxes } from "@/lib/redis/deferred-calls";
import type { WaitingRedis } from "@/lib/redis/waiting-reads";
import { connectWaiting } from "@/lib/redis/waiting-reads";
import { createLogger } from "@/lib/telemetry/logger";
import type { BookkeepingMetrics } from "@/lib/telemetry/metrics";
import { createBookkeepingMetrics } from "@/lib/telemetry/metrics";
import { createJobProvider } from "./job-provider";
import { createDeferredRunner } from "./deferred-runner";
import { createWebhookPost } from "./webhook-post";

interface Pinged {
  readonly postgres: boolean;
  readonly redis: boolean;
  readonly snapshot: boolean;
}

export interface WorkerServices {
  readonly deps: RecoveryDeps & ReconcileDeps;
  readonly deferred: DeferredDeps;
  readonly webhooks: WebhookDeps;
  readonly jobs: JobDeps;
  readonly metrics: BookkeepingMetrics;
  readonly reader: WaitingRedis;
  readonly queueUrl: string;
  readonly listOrganisations: () => Promise<readonly string[]>;
  readonly drainChanges: () => Promise<DrainResult>;
  /** Resolves once the server behind the money connection is known; throws after `timeoutMs`. */
  readonly untilConnected: (timeoutMs: number) => Promise<void>;
  /** What answers in time, and whether every organisation stands in Redis. */
  readonly ping: () => Promise<Pinged>;
  readonly close: () => Promise<void>;
}

type Settings = Pick<
  WorkerEnv,
  | "DATABASE_URL"
  | "REDIS_URL"
  | "REDIS_QUEUE_URL"
  | "LOG_LEVEL"
  | "SPILLWAY_KEY_PEPPER"
  | "SPILLWAY_MASTER_KEY"
  | "SPILLWAY_OUTBOUND_ALLOW"
  | "SANDBOX_URL"
  | "OPENAI_BASE_URL"
  | "ANTHROPIC_BASE_URL"
>;

/** Settlement commits and scripts of a large rebuild take longer than a gateway would wait. */
const COMMAND_TIMEOUT_MS = 15_000;

/** A server that hangs is one that is away. */
const PING_TIMEOUT_MS = 2_000;

async function ping(db: Db, store: HotConnection): Promise<Pinged> {
  const [postgres, redis] = await Promise.allSettled([
    beforeDeadline(db.pool.query("SELECT 1"), PING_TIMEOUT_MS),
    beforeDeadline(isPublished(store), PING_TIMEOUT_MS),
  ]);
  const isUp = redis.status === "fulfilled";
  return { postgres: postgres.status === "fulfilled", redis: isUp, snapshot: isUp && redis.value };
}

async function untilConnected(store: HotConnection, timeoutMs: number): Promise<void> {
  const untilMs = Date.now() + timeoutMs;
  while (store.runId() === undefined) {
    if (Date.now() > untilMs) throw new Error("Redis does not answer");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export function createWorkerServices(env: Settings): WorkerServices {
  const log = createLogger({ name: "spillway-worker", level: env.LOG_LEVEL });
  const db = getDb(env.DATABASE_URL);
  const store = connectHot(env.REDIS_URL, { commandTimeoutMs: COMMAND_TIMEOUT_MS, name: "spillway-worker" });
  const publisher = connectPatient(env.REDIS_URL, "spillway-publisher");
  const reader = connectWaiting(env.REDIS_URL, "spillway-settlement");
  const pepper = Buffer.from(env.SPILLWAY_KEY_PEPPER, "base64");
  const masterKey = Buffer.from(env.SPILLWAY_MASTER_KEY, "base64");
  const runner = createDeferredRunner({
    redisUrl: env.REDIS_URL,
    pepper,
    masterKey,
    outboundAllow: outboundAllowList(env),
    onFault: (error, requestId) => {
      log.error({ err: error, requestId }, "a deferred call failed in a way no branch foresaw");
    },
  });
  const provider = createJobProvider({ db, masterKey, outboundAllow: outboundAllowList(env) });
  const keeper = new JobKeeper(store, systemClock);
  const stopKeeping = keeper.start();
  const webhooks = createWebhookPost(outboundAllowList(env));
  const control = { db, redis: publisher, clock: systemClock };
  return {
    deps: {
      db,
      store,
      clock: systemClock,
      log,
      publish: async (organisationId, how) => {
        await publishAll(control, organisationId, how);
      },
      verifyTag: (tag) => verifyRequestTag(pepper, tag),
      fetchBillPage,
    },
    deferred: { db, store, clock: systemClock, masterKey, boxes: new DeferredBoxes(masterKey), run: runner.run },
    webhooks: { db, clock: systemClock, masterKey, post: webhooks.post },
    jobs: { db, store, clock: systemClock, log, keeper, provider },
    metrics: createBookkeepingMetrics(),
    reader,
    queueUrl: env.REDIS_QUEUE_URL ?? env.REDIS_URL,
    listOrganisations: () => listOrganisationIds(db.pool),
    drainChanges: () => drainChanges(control),
    untilConnected: (timeoutMs) => untilConnected(store, timeoutMs),
    ping: () => ping(db, store),
    close: async () => {
      await runner.close();
      await webhooks.close();
      await stopKeeping();
      await provider.close();
      reader.disconnect();
      publisher.disconnect();
      await store.close();
      await closeDb(env.DATABASE_URL);
    },
  };
}
