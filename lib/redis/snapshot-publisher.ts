/** The writing side of the PolicySnapshot: one script call puts a compiled change, or the whole, into Redis. */
import type { Redis } from "ioredis";
import type { BudgetAmounts } from "@/lib/domain/snapshot";
import { indexIssuers } from "./issuer-index";
import { keysOf, REMOVED_EPOCH } from "./keys";
import { numberAt, runScript } from "./scripts";

/** Connection used for publishing; never one in subscriber mode. */
export type PublisherRedis = Redis;

export interface SnapshotPush {
  readonly organisationId: string;
  /** Epoch of the database at which everything below was read. */
  readonly epoch: bigint;
  /** A part holds every change above this epoch and may only follow it or a newer one. */
  readonly publishedEpoch: bigint;
  /** `whole`: fields not named here are removed from Redis. */
  readonly mode: "whole" | "part";
  /** Snapshot field to JSON document; null removes it. */
  readonly documents: ReadonlyMap<string, string | null>;
  /** Hash of a secret to JSON document; null removes it. */
  readonly apiKeys: ReadonlyMap<string, string | null>;
  /** Budget id to its absolute amounts; null removes them. */
  readonly limits: ReadonlyMap<string, LimitRecord | null>;
  /** What counters hold from before their budget existed, absolute. */
  readonly openings: readonly CounterOpening[];
}

export interface LimitRecord extends BudgetAmounts {
  /** Raised by every change of the amounts; shown for diagnosis. */
  readonly version: string;
}

export interface CounterOpening {
  readonly budgetId: string;
  readonly periodId: string;
  /** Decimal integer text, may be negative. */
  readonly amount: string;
}

export type PushOutcome = "published" | "already" | "gap";
const OUTCOMES: readonly PushOutcome[] = ["published", "already", "gap"];

/**
 * Publishes a compiled change. `already`: Redis stands at this epoch or a newer one, nothing was written. `gap`: a push
 * before this part was lost with Redis' data; send the whole. Throws what the connection throws; safe to repeat.
 */
export async function pushSnapshot(
  redis: PublisherRedis,
  push: SnapshotPush,
): Promise<{ readonly outcome: PushOutcome; readonly epoch: bigint }> {
  const keys = keysOf(push.organisationId);
  const limits = [...push.limits];
  const args: string[] = [push.epoch.toString(), push.publishedEpoch.toString(), push.mode, keys.channel];
  args.push(
    String(push.documents.size),
    String(push.apiKeys.size),
    String(limits.length),
    String(push.openings.length),
  );
  for (const [field, document] of push.documents) args.push(field, document ?? "");
  for (const [hash, document] of push.apiKeys) args.push(hash, document ?? "");
  for (const [, record] of limits) {
    const fields = record === null ? [] : limitFields(record);
    args.push(String(fields.length / 2), ...fields);
  }
  for (const opening of push.openings) args.push(opening.amount);
  const reply = await runScript(
    redis,
    "publish",
    [
      keys.epoch,
      keys.snapshot,
      keys.apiKeys,
      keys.changes,
      ...limits.map(([budgetId]) => keys.limit(budgetId)),
      ...push.openings.map((opening) => keys.counter(opening.budgetId, opening.periodId)),
    ],
    args,
  );
  const outcome = OUTCOMES[numberAt(reply, 0)] ?? "gap";
  if (outcome !== "gap") await indexIssuers(redis, push.organisationId, push.documents.keys(), push.mode === "whole");
  return { outcome, epoch: BigInt(numberAt(reply, 1)) };
}

/** The epoch that stands in Redis; null when none does. */
export async function readPublishedEpoch(redis: PublisherRedis, organisationId: string): Promise<bigint | null> {
  const text = await redis.get(keysOf(organisationId).epoch);
  return text === null ? null : BigInt(text);
}

/**
 * Removes every key of an organisation, and leaves word that it was removed; returns how many. For sample data only: counters
 * are money.
 */
export async function removeOrganisationKeys(redis: PublisherRedis, organisationId: string): Promise<number> {
  const pattern = `${keysOf(organisationId).prefix.replace(/[\\*?[\]]/gu, "\\$&")}*`;
  let removed = 0;
  let cursor = "0";
  do {
    const [next, found] = await redis.scan(cursor, "MATCH", pattern, "COUNT", 1000);
    cursor = next;
    if (found.length > 0) removed += await redis.unlink(...found);
  } while (cursor !== "0");
  const { channel, epoch } = keysOf(organisationId);
  await redis.set(epoch, REMOVED_EPOCH);
  await redis.publish(channel, REMOVED_EPOCH);
  // Its snapshot is gone, so the index forgets all it had.
  await indexIssuers(redis, organisationId, [], true);
  return removed;
}

function limitFields(record: LimitRecord): string[] {
  const fields = ["l", record.limit, "o", record.overflow, "f", record.frozen ? "1" : "0", "v", record.version];
  for (const [periodId, grants] of Object.entries(record.grants)) {
    if (grants.length === 0) continue;
    fields.push(`g:${periodId}`, grants.map((one) => `${one.amount},${one.startsMs},${one.endsMs}`).join(";"));
  }
  return fields;
}
