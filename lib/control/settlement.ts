/**
 * From the usage stream to the ledger. A batch is handed to Postgres as the JSON it came as; only what could not be
 * inserted plainly is looked at here. Dying anywhere is safe: nothing leaves the stream before the commit, and a second
 * delivery inserts nothing.
 */
import { LOCKS, shareAdvisoryLock } from "@/lib/db/advisory-lock";
import type { SqlClient } from "@/lib/db/pool";
import { withSqlTransaction } from "@/lib/db/pool";
import { noteKeyUse } from "@/lib/db/api-keys";
import type { UsedKey } from "@/lib/db/api-keys";
import type { LedgerRecord, TouchedBudget } from "@/lib/db/ledger-entries";
import {
  findBooked,
  insertLedgerBatch,
  insertLedgerRecords,
  LedgerRaceError,
  listUnapplied,
  lockCorrections,
  saveCorrectionSequence,
} from "@/lib/db/ledger-entries";
import { idTimeMs } from "@/lib/domain/ids";
import type { UsageEvent } from "@/lib/domain/usage-event";
import { applyToCounters, readApplied } from "@/lib/redis/corrections";
import type { DeadEntry, StreamEntry } from "@/lib/redis/usage-stream";
import type { BookkeepingDeps } from "./bookkeeping";
import { bookDay } from "./bookkeeping";
import type { Attempt } from "./event-records";
import { attemptKey, isNothingNew, recordsFor } from "./event-records";
import { readUsageEvent } from "./usage-events";

export interface BookingResult {
  /** Base entries inserted. */
  readonly inserted: number;
  /** Late events and corrections booked. */
  readonly corrected: number;
  readonly dead: readonly DeadEntry[];
  readonly touched: readonly TouchedBudget[];
  /** Whether counters wait for entries of this batch. */
  readonly needsApply: boolean;
}

const ATTEMPTS = 5;
/** `announced`: a settlement that a gateway told a Redis which had lost it; no script moved counters for it. */
const KINDS = new Set(["settled", "expired", "announced", "late"]);
const RETRYABLE = new Set(["40001", "40P01", "23505", "55P03"]);

/**
 * Books a batch of one organisation's stream. Resolves when everything that can be booked is committed; what cannot be is
 * in `dead`. Throws where Postgres cannot be reached: nothing is kept then and the entries stay in the stream. `readFrom` is
 * the run id of the server that `deps.store` spoke to before the entries were read; where another one stands there by
 * now it throws as well: what that one has of them comes again, and gateways tell it the rest.
 */
export async function bookEntries(
  deps: BookkeepingDeps,
  organisationId: string,
  entries: readonly StreamEntry[],
  readFrom?: string,
): Promise<BookingResult> {
  const dead = entries.filter((entry) => !looksRight(entry)).map((entry) => ({ ...entry, reason: "malformed" }));
  const good = dead.length === 0 ? entries : entries.filter(looksRight);
  try {
    return withDead(await bookBatch(deps, organisationId, good, readFrom), dead);
  } catch (error) {
    if (!isDataError(error)) throw error;
    deps.log.warn({ err: error, organisationId, entries: good.length }, "a batch has an event the ledger cannot take");
  }
  // One by one: the bad event is found, the others are booked.
  const results: BookingResult[] = [];
  for (const entry of good) results.push(await bookAlone(deps, organisationId, entry, readFrom));
  return withDead(merge(results), dead);
}

async function bookAlone(
  deps: BookkeepingDeps,
  organisationId: string,
  entry: StreamEntry,
  readFrom: string | undefined,
): Promise<BookingResult> {
  const read = readUsageEvent(entry.eventJson);
  if (!read.ok) return nothing([{ ...entry, reason: read.reason }]);
  try {
    return await bookBatch(deps, organisationId, [{ ...entry, eventJson: JSON.stringify(read.event) }], readFrom);
  } catch (error) {
    if (!isDataError(error)) throw error;
    return nothing([{ ...entry, reason: `refused by the ledger (${codeOf(error)})` }]);
  }
}

async function bookBatch(
  deps: BookkeepingDeps,
  organisationId: string,
  entries: readonly StreamEntry[],
  readFrom: string | undefined,
): Promise<BookingResult> {
  if (entries.length === 0) return nothing([]);
  const batch = `[${entries.map((entry) => `{"k":"${entry.kind}","e":${entry.eventJson}}`).join(",")}]`;
  for (let attempt = 1; ; attempt += 1) {
    try {
      let usedKeys: readonly UsedKey[] = [];
      const result = await withSqlTransaction(deps.db.pool, async (client) => {
        if (readFrom !== undefined) await assertSameServer(deps, client, organisationId, readFrom);
        const base = await insertLedgerBatch(client, organisationId, batch);
        // One element more or less than entries: some text was not one JSON value, so no position can be trusted.
        if (base.inserted + base.rest.length !== entries.length) throw new BatchShapeError();
        usedKeys = base.usedKeys;
        if (base.rest.length === 0) {
          return { inserted: base.inserted, corrected: 0, dead: [], touched: base.touched, needsApply: false };
        }
        const rest = base.rest.flatMap((position) => entries[position] ?? []);
        const booked = await bookRest(client, organisationId, rest);
        return { ...booked, inserted: base.inserted, touched: [...base.touched, ...booked.touched] };
      });
      await noteUse(deps, organisationId, usedKeys);
      return result;
    } catch (error) {
      const isRace = error instanceof LedgerRaceError || RETRYABLE.has(codeOf(error));
      if (!isRace || attempt === ATTEMPTS) throw error;
    }
  }
}

/** What is booked is booked: a time of last use that could not be written comes with the key's next calls. */
async function noteUse(deps: BookkeepingDeps, organisationId: string, used: readonly UsedKey[]): Promise<void> {
  try {
    await noteKeyUse(deps.db.pool, organisationId, used);
  } catch (error) {
    deps.log.warn({ err: error, organisationId }, "times of last use were not written");
  }
}

/**
 * An entry may be booked without a word to the counters only as long as the server lives whose script charged them: the next
 * server's counters are computed from the ledger, and what is booked after that they would lack. The computation waits for
 * whoever holds this lock, so a server that answers under it lives long enough.
 */
async function assertSameServer(
  deps: BookkeepingDeps,
  client: SqlClient,
  organisationId: string,
  readFrom: string,
): Promise<void> {
  await shareAdvisoryLock(client, LOCKS.booking, organisationId);
  await deps.store.redis.ping();
  if (deps.store.runId() !== readFrom) throw new Error("the entries came from a Redis that is gone");
}

/** Late events, second deliveries, and second opinions on an attempt that is booked already. */
async function bookRest(
  client: SqlClient,
  organisationId: string,
  rest: readonly StreamEntry[],
): Promise<Omit<BookingResult, "inserted">> {
  const dead: DeadEntry[] = [];
  const events: { kind: string; event: UsageEvent }[] = [];
  for (const entry of rest) {
    const read = readUsageEvent(entry.eventJson);
    if (!read.ok) dead.push({ ...entry, reason: read.reason });
    else if (read.event.organisationId !== organisationId) dead.push({ ...entry, reason: "another organisation" });
    else events.push({ kind: entry.kind, event: read.event });
  }
  const attempts = await readAttempts(client, organisationId, events);
  if (events.every(({ kind, event }) => isNothingNew(kind, event, attempts))) {
    return { corrected: 0, dead, touched: [], needsApply: false };
  }
  // Decided again on what is read under the lock, so that two workers cannot both find the attempt uncorrected.
  const before = await lockCorrections(client, organisationId);
  const locked = await readAttempts(client, organisationId, events);
  let sequence = before;
  const records: LedgerRecord[] = [];
  for (const { kind, event } of events) {
    for (const record of recordsFor(kind, event, locked, sequence + 1n)) {
      if (record.counterSequence !== null) sequence += 1n;
      records.push(record);
    }
  }
  const touched = await insertLedgerRecords(client, organisationId, records);
  if (sequence > before) await saveCorrectionSequence(client, organisationId, sequence);
  return { corrected: records.length, dead, touched, needsApply: sequence > before };
}

async function readAttempts(
  client: SqlClient,
  organisationId: string,
  events: readonly { readonly event: UsageEvent }[],
): Promise<Map<string, Attempt>> {
  const keys = events.flatMap(({ event }) => {
    // An orphan of the bill is booked at the time its request id carries.
    const times = new Set([event.reservedAtMs, idTimeMs(event.requestId) ?? event.reservedAtMs]);
    return [...times].map((reservedAtMs) => ({ requestId: event.requestId, attempt: event.attempt, reservedAtMs }));
  });
  const attempts = new Map<string, Attempt>();
  for (const entry of await findBooked(client, organisationId, keys)) {
    const key = attemptKey(entry.requestId, entry.attempt);
    const known = attempts.get(key);
    if (known) known.booked.push(entry);
    else attempts.set(key, { booked: [entry] });
  }
  return attempts;
}

const APPLY_BATCH = 200;

/**
 * Adds to the counters every entry they lack, in order. Resolves with how many; stops without an error where the
 * organisation is fenced (recovery counts the entries then). Throws what Redis or Postgres throw; safe to repeat.
 */
export async function applyCorrections(deps: BookkeepingDeps, organisationId: string): Promise<number> {
  let count = 0;
  for (;;) {
    const applied = await readApplied(deps.store, organisationId);
    const entries = await listUnapplied(deps.db.pool, organisationId, applied, APPLY_BATCH);
    for (const entry of entries) {
      const outcome = await applyToCounters(deps.store, organisationId, {
        sequence: entry.counterSequence,
        day: bookDay(entry.reservedAtMs),
        priceCurrency: entry.priceCurrency,
        priceAmount: entry.priceAmount,
        lines: entry.lines,
      });
      if (outcome === "fenced" || outcome === "gap") return count;
      if (outcome === "applied") count += 1;
    }
    if (entries.length < APPLY_BATCH) return count;
  }
}

/** The text is spliced into a larger JSON text; Postgres parses it, and the element count is compared afterwards. */
function looksRight(entry: StreamEntry): boolean {
  return KINDS.has(entry.kind) && entry.eventJson.startsWith("{") && entry.eventJson.endsWith("}");
}

class BatchShapeError extends Error {
  constructor() {
    super("a batch did not unpack into one element an entry");
    this.name = "BatchShapeError";
  }
}

/** Errors that lie in the data (Postgres classes 22 and 23), as opposed to a database that is away or busy. */
function isDataError(error: unknown): boolean {
  return error instanceof BatchShapeError || /^2[23]/u.test(codeOf(error));
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}

function nothing(dead: readonly DeadEntry[]): BookingResult {
  return { inserted: 0, corrected: 0, dead, touched: [], needsApply: false };
}

function merge(results: readonly BookingResult[]): BookingResult {
  return {
    inserted: results.reduce((sum, result) => sum + result.inserted, 0),
    corrected: results.reduce((sum, result) => sum + result.corrected, 0),
    dead: results.flatMap((result) => result.dead),
    touched: results.flatMap((result) => result.touched),
    needsApply: results.some((result) => result.needsApply),
  };
}

function withDead(result: BookingResult, dead: readonly DeadEntry[]): BookingResult {
  return dead.length === 0 ? result : { ...result, dead: [...dead, ...result.dead] };
}
