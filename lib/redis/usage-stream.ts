/**
 * The booking side of the usage streams: one consumer group per organisation. An entry leaves the stream only after it
 * stands in Postgres; whatever a dead consumer had in hand is claimed by a living one.
 */
import type { Redis } from "ioredis";
import { keysOf } from "./keys";
import { numberAt, runScript, textAt } from "./scripts";

export const BOOKING_GROUP = "booker";

/** One event of an entry. Events that were settled together share an entry, and so its id. */
export interface StreamEntry {
  readonly id: string;
  readonly kind: string;
  readonly eventJson: string;
}

export interface DeadEntry extends StreamEntry {
  readonly reason: string;
}

type RawEntry = [id: string, fields: string[] | null];

/** Makes the group where it is missing; with the stream lost, also an empty stream. Safe to repeat. */
export async function ensureBookingGroup(redis: Redis, organisationId: string): Promise<void> {
  try {
    await redis.xgroup("CREATE", keysOf(organisationId).usage, BOOKING_GROUP, "0", "MKSTREAM");
  } catch (error) {
    if (!(error instanceof Error && error.message.startsWith("BUSYGROUP"))) throw error;
  }
}

export function isGroupMissing(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith("NOGROUP");
}

/**
 * The events of up to `count` new entries of each organisation's stream, waiting up to `blockMs` for the first. The connection is
 * blocked meanwhile, so it must be one of its own. Throws where a group is missing (see isGroupMissing).
 */
export async function readUsage(
  redis: Redis,
  consumer: string,
  organisationIds: readonly string[],
  options: { readonly count: number; readonly blockMs: number },
): Promise<Map<string, StreamEntry[]>> {
  const streams = organisationIds.map((id) => keysOf(id).usage);
  const reply = (await redis.xreadgroup(
    "GROUP",
    BOOKING_GROUP,
    consumer,
    "COUNT",
    options.count,
    "BLOCK",
    options.blockMs,
    "STREAMS",
    ...streams,
    ...streams.map(() => ">"),
  )) as [stream: string, entries: RawEntry[]][] | null;
  const byStream = new Map(organisationIds.map((id) => [keysOf(id).usage, id]));
  const found = new Map<string, StreamEntry[]>();
  for (const [stream, entries] of reply ?? []) {
    const organisationId = byStream.get(stream);
    if (organisationId !== undefined) found.set(organisationId, entries.flatMap(eventsOf));
  }
  return found;
}

/** Takes over entries that some consumer has held for `idleMs` without booking them. */
export async function claimUsage(
  redis: Redis,
  consumer: string,
  organisationId: string,
  options: { readonly count: number; readonly idleMs: number },
): Promise<StreamEntry[]> {
  const reply = (await redis.xautoclaim(
    keysOf(organisationId).usage,
    BOOKING_GROUP,
    consumer,
    options.idleMs,
    "0",
    "COUNT",
    options.count,
  )) as [cursor: string, entries: RawEntry[], deleted: string[]];
  return reply[1].flatMap(eventsOf);
}

/** The events of the oldest entries still in the stream, delivered to somebody or not. */
export async function peekUsage(redis: Redis, organisationId: string, count: number): Promise<StreamEntry[]> {
  return (await redis.xrange(keysOf(organisationId).usage, "-", "+", "COUNT", count)).flatMap(eventsOf);
}

export async function usageLength(redis: Redis, organisationId: string): Promise<number> {
  return redis.xlen(keysOf(organisationId).usage);
}

/**
 * Takes entries off the stream whose events are all booked or dead, and moves the watermark; dead ones are kept as dead
 * letters with a reason. An id may come once for each of its events. Call after the commit only. Safe to repeat.
 */
export async function removeBooked(
  redis: Redis,
  organisationId: string,
  ids: readonly string[],
  dead: readonly DeadEntry[] = [],
): Promise<{ readonly removed: number; readonly watermark: string }> {
  const keys = keysOf(organisationId);
  const entries = [...new Set(ids)];
  const letters = dead.flatMap(({ id, reason, kind, eventJson }) => [id, reason, kind, eventJson]);
  const reply = await runScript(
    redis,
    "book",
    [keys.usage, keys.booked, keys.deadUsage],
    [BOOKING_GROUP, entries.length, ...entries, ...letters],
  );
  return { removed: numberAt(reply, 0), watermark: textAt(reply, 1) };
}

export interface DeadLetter {
  /** Id in the dead-letter stream. */
  readonly id: string;
  readonly streamId: string;
  readonly reason: string;
  readonly kind: string;
  readonly eventJson: string;
}

export async function listDeadUsage(redis: Redis, organisationId: string, count: number): Promise<DeadLetter[]> {
  const entries = await redis.xrange(keysOf(organisationId).deadUsage, "-", "+", "COUNT", count);
  return entries.map(([id, fields]) => ({
    id,
    streamId: fieldOf(fields, "id"),
    reason: fieldOf(fields, "reason"),
    kind: fieldOf(fields, "k"),
    eventJson: fieldOf(fields, "e"),
  }));
}

/** Puts dead letters back into the usage stream; booking is idempotent, so a repeated retry does no harm. Returns how many. */
export async function retryDeadUsage(redis: Redis, organisationId: string, count: number): Promise<number> {
  const keys = keysOf(organisationId);
  const letters = await listDeadUsage(redis, organisationId, count);
  for (const letter of letters) {
    await redis
      .multi()
      .xadd(keys.usage, "*", "k", letter.kind, "e", letter.eventJson)
      .xdel(keys.deadUsage, letter.id)
      .exec();
  }
  return letters.length;
}

/**
 * The events of one entry as the scripts write them, field by field: `k` kind; `c` the common beginning of the events whose
 * rest `r` follows; `e` an event, which continues the head `h` from its comma where there is one. Of a name that comes twice
 * in an event the later value counts.
 */
function eventsOf([id, fields]: RawEntry): StreamEntry[] {
  const events: StreamEntry[] = [];
  let [kind, common, head] = ["", "", ""];
  for (let index = 0; index + 1 < (fields?.length ?? 0); index += 2) {
    const [name = "", value = ""] = fields?.slice(index, index + 2) ?? [];
    if (name === "k") kind = value;
    else if (name === "c") common = value;
    else if (name === "h") head = value;
    else if (name === "r") events.push({ id, kind, eventJson: common + value });
    else if (name === "e") events.push({ id, kind, eventJson: head.slice(0, -1) + value });
  }
  // An entry that says nothing is a dead letter, not one that stays for ever.
  return events.length > 0 || fields === null ? events : [{ id, kind, eventJson: "" }];
}

function fieldOf(fields: readonly string[] | null, name: string): string {
  for (let index = 0; index + 1 < (fields?.length ?? 0); index += 2) {
    if (fields?.[index] === name) return fields[index + 1] ?? "";
  }
  return "";
}
