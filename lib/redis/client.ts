/** Connections to Redis, and which server stands behind them. */
import { Redis } from "ioredis";

export interface HotConnection {
  readonly redis: Redis;
  /** Run id of the server this connection speaks to; undefined until it is known. Every restart and failover changes it. */
  runId(): string | undefined;
  /** Calls back at each change of server, first one included. */
  onRunId(listener: (runId: string) => void): void;
  close(): Promise<void>;
}

/** From the answer to INFO server. */
export function runIdOf(info: string): string | undefined {
  return /^run_id:([0-9a-f]+)/mu.exec(info)?.[1];
}

/**
 * A connection for the money path: it fails at once instead of queueing, and never sends a command twice by itself.
 * `commandTimeoutMs` bounds every command.
 */
export function connectHot(url: string, options: { commandTimeoutMs?: number; name?: string } = {}): HotConnection {
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    commandTimeout: options.commandTimeoutMs ?? 2000,
    connectTimeout: 2000,
    connectionName: options.name ?? "spillway-gateway",
    retryStrategy: (attempt) => Math.min(20 * 2 ** attempt, 500),
  });
  let runId: string | undefined;
  const listeners: ((runId: string) => void)[] = [];
  // An unhandled error event would end the process; the state is visible through runId().
  redis.on("error", () => undefined);
  redis.on("close", () => {
    runId = undefined;
  });
  redis.on("ready", () => {
    redis
      .info("server")
      .then((info) => {
        runId = runIdOf(info);
        if (runId !== undefined) for (const listener of listeners) listener(runId);
      })
      // Without a run id nothing is reserved here; the next connection asks again.
      .catch(() => {
        redis.disconnect(true);
      });
  });
  return {
    redis,
    runId: () => runId,
    onRunId: (listener) => {
      listeners.push(listener);
      if (runId !== undefined) listener(runId);
    },
    close: async () => {
      await redis.quit().catch(() => {
        redis.disconnect();
      });
    },
  };
}

/** A connection for workers, the console and subscriptions: it waits for Redis instead of failing. */
export function connectPatient(url: string, name = "spillway"): Redis {
  const redis = new Redis(url, {
    maxRetriesPerRequest: null,
    connectionName: name,
    retryStrategy: (attempt) => Math.min(50 * 2 ** attempt, 1000),
  });
  redis.on("error", () => undefined);
  return redis;
}
