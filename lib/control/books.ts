/** The three books side by side: sums by currency, and counters against what the ledger says they should be. */
import { BOOK_DAYS, readCounterSources } from "@/lib/db/counter-sources";
import type { CounterSources } from "@/lib/db/counter-sources";
import { listLedgerSums } from "@/lib/db/reconciliations";
import { readApplied } from "@/lib/redis/corrections";
import { readCounters } from "@/lib/redis/counters";
import { readBooks, readDrainedStreamId, readFence } from "@/lib/redis/recovery";
import type { BookkeepingDeps } from "./bookkeeping";
import { bookDay } from "./bookkeeping";

export interface CounterMismatch {
  readonly budgetId: string;
  readonly periodId: string;
  readonly counter: string;
  readonly ledger: string;
}

export interface Books {
  /** Whether nothing moved while the books were read: only then may they be compared. */
  readonly isQuiet: boolean;
  /** Id of the last event there ever was; moves with every settlement. */
  readonly streamId: string | undefined;
  /** Nanos by provider and price currency, of all time. */
  readonly ledger: readonly { readonly providerId: string; readonly currency: string; readonly amount: bigint }[];
  /** By price currency, of the days that Redis keeps. */
  readonly ledgerOfDays: ReadonlyMap<string, bigint>;
  readonly counterOfDays: ReadonlyMap<string, bigint>;
  readonly mismatches: readonly CounterMismatch[];
}

const ATTEMPTS = 5;
const DAY_MS = 86_400_000;

/** Reads until nothing moved meanwhile, a few times at most. */
export async function readAllBooks(deps: BookkeepingDeps, organisationId: string): Promise<Books | null> {
  let books: Books | null = null;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    books = await readOnce(deps, organisationId);
    if (books === null || books.isQuiet) break;
  }
  return books;
}

async function readOnce(deps: BookkeepingDeps, organisationId: string): Promise<Books | null> {
  const streamId = await readDrainedStreamId(deps.store, organisationId);
  const sources = await readCounterSources(deps.db.pool, organisationId, deps.clock.nowMs());
  if (sources === null) return null;
  const ledger = await listLedgerSums(deps.db.pool, organisationId);
  const nowMs = deps.clock.nowMs();
  const days = Array.from({ length: BOOK_DAYS + 1 }, (_, index) => bookDay(nowMs - index * DAY_MS));
  const counterOfDays = sumByCurrency(await readBooks(deps.store, organisationId, days));
  const mismatches = await compareCounters(deps, organisationId, sources);
  const { isFenced } = await readFence(deps.store, organisationId);
  const applied = await readApplied(deps.store, organisationId);
  const isQuiet =
    streamId !== undefined &&
    !isFenced &&
    applied === sources.correctionSequence &&
    (await readDrainedStreamId(deps.store, organisationId)) === streamId;
  return { isQuiet, streamId, ledger, ledgerOfDays: sumByCurrency(sources.books), counterOfDays, mismatches };
}

async function compareCounters(
  deps: BookkeepingDeps,
  organisationId: string,
  sources: CounterSources,
): Promise<CounterMismatch[]> {
  const counters = await readCounters(deps.store.redis, organisationId, sources.counters);
  return sources.counters.flatMap(({ budgetId, periodId, booked, opening }, index) => {
    const counter = counters[index]?.settled ?? 0n;
    const ledger = booked + opening;
    if (counter === ledger) return [];
    return [{ budgetId, periodId, counter: counter.toString(), ledger: ledger.toString() }];
  });
}

function sumByCurrency(days: ReadonlyMap<string, ReadonlyMap<string, bigint>>): Map<string, bigint> {
  const sums = new Map<string, bigint>();
  for (const amounts of days.values()) {
    for (const [currency, amount] of amounts) sums.set(currency, (sums.get(currency) ?? 0n) + amount);
  }
  return sums;
}
