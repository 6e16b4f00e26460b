/** What the console asks of Redis about an organisation as a whole: is it unfenced, and does its usage stream lag. */
import type { Redis } from "ioredis";
import { runIdOf } from "./client";
import { keysOf } from "./keys";

/** Whether gateways may reserve: the counters were proved on the very server that answers now. Rejects without an answer. */
export async function isUnfenced(redis: Redis, organisationId: string): Promise<boolean> {
  const [generation, info] = await Promise.all([redis.get(keysOf(organisationId).generation), redis.info("server")]);
  const runId = runIdOf(info);
  return runId !== undefined && generation === runId;
}

export interface StreamBacklog {
  /** Usage events that wait to be booked. */
  readonly waiting: number;
  /** How long the oldest of them has waited, in ms of Redis' own clock; null where none waits. */
  readonly oldestAgeMs: number | null;
}

const AT_ONCE = 500;

/** What waits in the usage streams of these organisations together. Rejects when Redis cannot answer. */
export async function readBacklog(redis: Redis, organisationIds: readonly string[]): Promise<StreamBacklog> {
  let waiting = 0;
  let oldestMs = Number.POSITIVE_INFINITY;
  for (let from = 0; from < organisationIds.length; from += AT_ONCE) {
    const reads = organisationIds.slice(from, from + AT_ONCE).map(async (id) => {
      const stream = keysOf(id).usage;
      const [length, oldest] = await Promise.all([redis.xlen(stream), redis.xrange(stream, "-", "+", "COUNT", 1)]);
      waiting += length;
      // Stream ids begin with the milliseconds of the server that gave them.
      const atMs = Number(oldest[0]?.[0].split("-")[0] ?? Number.NaN);
      if (atMs < oldestMs) oldestMs = atMs;
    });
    await Promise.all(reads);
  }
  if (oldestMs === Number.POSITIVE_INFINITY) return { waiting, oldestAgeMs: null };
  const [seconds, micros] = await redis.time();
  return { waiting, oldestAgeMs: Math.max(0, Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000) - oldestMs) };
}
