/** Which ledger entries a usage event becomes, given what is booked of its attempt: pure, and the same however often asked. */
import type { BookedEntry, LedgerRecord } from "@/lib/db/ledger-entries";
import { amountsOf, correctionFor, differenceOf, sumBooked, withAmounts } from "@/lib/domain/correction";
import type { UsageEvent } from "@/lib/domain/usage-event";

export interface Attempt {
  readonly booked: BookedEntry[];
}

export function attemptKey(requestId: string, attempt: number): string {
  return `${requestId}:${attempt}`;
}

/** Whether the event, with what is booked of its attempt, adds no entry. */
export function isNothingNew(kind: string, event: UsageEvent, attempts: ReadonlyMap<string, Attempt>): boolean {
  const attempt = attempts.get(attemptKey(event.requestId, event.attempt));
  if (attempt === undefined) return false;
  return movedCounters(kind) ? isBooked(event, attempt.booked) : correctionFor(event, attempt.booked) === null;
}

/** Whether the script that appended the event charged its lines to the counters. */
function movedCounters(kind: string): boolean {
  return kind === "settled" || kind === "expired";
}

/** Whether this very event is one of the attempt's entries: a second delivery. */
function isBooked(event: UsageEvent, booked: readonly BookedEntry[]): boolean {
  return booked.some(
    (entry) =>
      entry.outcome === event.outcome &&
      entry.isEstimated === event.isEstimated &&
      entry.priceAmount === BigInt(event.priceAmount) &&
      entry.amount === BigInt(event.amount),
  );
}

/**
 * The entries an event adds, noted in `attempts` too. Who has their lines in the counters?
 * - `late`: its script touched no counter, so its entry carries a counter sequence and is applied.
 * - `announced` on a booked attempt: no script touched a counter, but the fence under which it was said falls only once the
 *   stream is drained, and then counters are computed from the ledger, this entry included. A sequence would be skipped by
 *   that same rebuild; without one, no other path can add it a second time.
 * - `settled` or `expired` on a booked attempt (it was overtaken: by a late event while a dead worker still had it in hand,
 *   or by the bill): its script did charge the counters. So it is entered as it was, and what is then too much is taken
 *   back by a second entry with a sequence: the ledger comes to what is known best, and the counters follow.
 */
export function recordsFor(
  kind: string,
  event: UsageEvent,
  attempts: Map<string, Attempt>,
  nextSequence: bigint,
): LedgerRecord[] {
  const key = attemptKey(event.requestId, event.attempt);
  const booked = attempts.get(key)?.booked ?? [];
  const [first] = booked;
  const records = first === undefined ? [baseRecord(kind, event, nextSequence)] : later(first);
  attempts.set(key, { booked: [...booked, ...records.map(bookedOf)] });
  return records;

  function later({ reservedAtMs }: BookedEntry): LedgerRecord[] {
    const sequence = Math.max(...booked.map((entry) => entry.sequence)) + 1;
    const correction = (changed: UsageEvent, offset: number, counterSequence: bigint | null): LedgerRecord => ({
      event: { ...changed, reservedAtMs },
      kind: "correction",
      sequence: sequence + offset,
      counterSequence,
    });
    if (!movedCounters(kind)) {
      const difference = correctionFor(event, booked);
      return difference === null ? [] : [correction(difference, 0, kind === "late" ? nextSequence : null)];
    }
    if (isBooked(event, booked)) return [];
    const own = amountsOf(event);
    const standing = sumBooked(booked);
    const excess = correctionFor(event, booked) === null ? own : standing;
    const nothing = differenceOf(own, own);
    return [
      correction(withAmounts(event, own), 0, null),
      correction(withAmounts(event, differenceOf(nothing, excess)), 1, nextSequence),
    ];
  }
}

function baseRecord(kind: string, event: UsageEvent, nextSequence: bigint): LedgerRecord {
  return { event, kind: "usage", sequence: 0, counterSequence: kind === "late" ? nextSequence : null };
}

function bookedOf(record: LedgerRecord): BookedEntry {
  const { requestId, attempt, reservedAtMs, outcome, isEstimated } = record.event;
  const { kind, sequence } = record;
  return { requestId, attempt, reservedAtMs, outcome, isEstimated, kind, sequence, ...amountsOf(record.event) };
}
