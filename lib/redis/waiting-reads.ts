/** Connections on which a read waits for the next entry: no command time-out, and nothing else may use them. */
import { Redis } from "ioredis";

export type WaitingRedis = Redis;

export function connectWaiting(url: string, name: string): WaitingRedis {
  const redis = new Redis(url, {
    connectionName: name,
    connectTimeout: 5_000,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => Math.min(50 * attempt, 500),
  });
  redis.on("error", () => undefined);
  return redis;
}
