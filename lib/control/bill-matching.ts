/** One page of a provider's bill against the ledger: corrections for what differs, entries for what is missing. */
import { findBooked, insertLedgerRecords, lockCorrections, saveCorrectionSequence } from "@/lib/db/ledger-entries";
import type { AttemptKey, BookedEntry, LedgerRecord, TouchedBudget } from "@/lib/db/ledger-entries";
import { withSqlTransaction } from "@/lib/db/pool";
import { findBaseEvents } from "@/lib/db/reconciliations";
import type { BilledCall } from "@/lib/domain/bill";
import { billCorrection, sumBilled } from "@/lib/domain/bill";
import type { Organisation } from "@/lib/domain/entities";
import { idTimeMs } from "@/lib/domain/ids";
import type { UsageEvent } from "@/lib/domain/usage-event";
import { readReservations } from "@/lib/redis/sweeper";
import type { BookkeepingDeps } from "./bookkeeping";
import { orphanEvent } from "./orphans";

/** A bill line that carries our signed tag. */
export interface TaggedLine {
  readonly sequence: number;
  readonly receivedAtMs: number;
  readonly reservationId: string;
  readonly apiKeyId: string;
  readonly model: string;
  readonly billed: BilledCall;
}

export interface BillContext {
  readonly organisation: Organisation;
  readonly providerId: string;
  readonly currency: string;
  /** Lines received later than this without an entry may still be on their way through the stream. */
  readonly orphansBeforeMs: number;
}

export interface MatchResult {
  readonly corrections: number;
  /** Sequences that cannot be judged yet: the call is open, or was a moment ago. */
  readonly unresolved: readonly number[];
  /** Lines whose currency is not that of the entry, or cannot be converted. */
  readonly mismatched: number;
  readonly touched: readonly TouchedBudget[];
}

interface Billed {
  readonly key: AttemptKey;
  readonly lines: readonly TaggedLine[];
}

/** Idempotent: a second run over the same lines finds everything equal. Throws what Postgres and Redis throw. */
export async function matchBill(
  deps: BookkeepingDeps,
  context: BillContext,
  lines: readonly TaggedLine[],
): Promise<MatchResult> {
  const attempts = groupByAttempt(lines);
  const organisationId = context.organisation.id;
  const ids = [...attempts.keys()];
  const open = new Set((await readReservations(deps.store, organisationId, ids)).map((reservation) => reservation.id));
  const orphans = await prepareOrphans(deps, context, attempts, open);
  return withSqlTransaction(deps.db.pool, async (client) => {
    const keys = [...attempts.values()].map((attempt) => attempt.key);
    const before = await lockCorrections(client, organisationId);
    const booked = groupBooked(await findBooked(client, organisationId, keys));
    const bases = new Map((await findBaseEvents(client, organisationId, keys)).map((event) => [idOf(event), event]));
    const records: LedgerRecord[] = [];
    const unresolved: number[] = [];
    let mismatched = 0;
    let sequence = before;
    for (const [id, attempt] of attempts) {
      const entries = booked.get(id);
      const base = bases.get(id);
      const orphan = orphans.get(id);
      if (open.has(id) || (entries === undefined && orphan === undefined)) {
        unresolved.push(...attempt.lines.map((line) => line.sequence));
      } else if (entries === undefined || base === undefined) {
        if (orphan === undefined || orphan === null) mismatched += 1;
        else records.push({ event: orphan, kind: "usage", sequence: 0, counterSequence: (sequence += 1n) });
      } else if (base.priceCurrency !== context.currency) {
        mismatched += 1;
      } else {
        const billed = sumBilled(attempt.lines.map((line) => line.billed));
        const event = billCorrection(base, entries, billed, deps.clock.nowMs());
        if (event !== null) {
          const record = correctionRecord(event, entries, sequence + 1n);
          if (record.counterSequence !== null) sequence += 1n;
          records.push(record);
        }
      }
    }
    const touched = await insertLedgerRecords(client, organisationId, records);
    if (sequence > before) await saveCorrectionSequence(client, organisationId, sequence);
    return { corrections: records.length, unresolved, mismatched, touched };
  });
}

/** A correction's row: counters need it only where it moves a line or the book. */
export function correctionRecord(
  event: UsageEvent,
  booked: readonly BookedEntry[],
  nextSequence: bigint,
): LedgerRecord {
  const movesCounters = event.lines.length > 0 || event.priceAmount !== "0";
  return {
    event,
    kind: "correction",
    sequence: Math.max(...booked.map((entry) => entry.sequence)) + 1,
    counterSequence: movesCounters ? nextSequence : null,
  };
}

function groupByAttempt(lines: readonly TaggedLine[]): Map<string, Billed> {
  const attempts = new Map<string, Billed>();
  for (const line of lines) {
    const key = attemptKeyOf(line.reservationId);
    if (key === null) continue;
    const known = attempts.get(line.reservationId);
    attempts.set(line.reservationId, { key, lines: [...(known?.lines ?? []), line] });
  }
  return attempts;
}

/** `<requestId>:<attempt>`; the request id carries the time of the reservation, which is part of the row's key. */
export function attemptKeyOf(reservationId: string): AttemptKey | null {
  const [requestId = "", attempt = ""] = reservationId.split(":");
  const reservedAtMs = idTimeMs(requestId);
  if (reservedAtMs === undefined || !/^\d{1,4}$/u.test(attempt)) return null;
  return { requestId, attempt: Number(attempt), reservedAtMs };
}

export function groupBooked(entries: readonly BookedEntry[]): Map<string, BookedEntry[]> {
  const groups = new Map<string, BookedEntry[]>();
  for (const entry of entries) {
    const id = idOf(entry);
    const known = groups.get(id);
    if (known) known.push(entry);
    else groups.set(id, [entry]);
  }
  return groups;
}

export function idOf(entry: { readonly requestId: string; readonly attempt: number }): string {
  return `${entry.requestId}:${entry.attempt}`;
}

/** Events for old lines without an entry; null for one that cannot be converted. Looked up again under the lock before they are used. */
async function prepareOrphans(
  deps: BookkeepingDeps,
  context: BillContext,
  attempts: ReadonlyMap<string, Billed>,
  open: ReadonlySet<string>,
): Promise<Map<string, UsageEvent | null>> {
  const old = [...attempts].filter(
    ([id, attempt]) => !open.has(id) && attempt.lines.every((line) => line.receivedAtMs < context.orphansBeforeMs),
  );
  const keys = old.map(([, attempt]) => attempt.key);
  const known = groupBooked(await findBooked(deps.db.pool, context.organisation.id, keys));
  const events = new Map<string, UsageEvent | null>();
  for (const [id, { key, lines }] of old) {
    const [first] = lines;
    if (first === undefined || known.has(id)) continue;
    const orphan = {
      ...key,
      apiKeyId: first.apiKeyId,
      providerId: context.providerId,
      upstreamModel: first.model,
      currency: context.currency,
      billed: sumBilled(lines.map((line) => line.billed)),
    };
    events.set(id, await orphanEvent(deps.db, context.organisation, orphan, deps.clock.nowMs()));
  }
  return events;
}
