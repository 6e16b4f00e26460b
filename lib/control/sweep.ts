/** Ends reservations whose process stopped renewing them, each once, at the best estimate there is. */
import type { ExpiredReservation } from "@/lib/domain/expiry";
import { expiryOf } from "@/lib/domain/expiry";
import type { PriceRates } from "@/lib/domain/snapshot";
import type { TokenUsage } from "@/lib/domain/usage-event";
import { tokenUsage, usageEventHead } from "@/lib/domain/usage-event";
import { listPriceRates } from "@/lib/db/price-rates";
import { costOf } from "@/lib/pricing/cost";
import type { StoredReservation } from "@/lib/redis/sweeper";
import { expireReservation, listDueReservations, readReservations, readStoreTimeMs } from "@/lib/redis/sweeper";
import type { BookkeepingDeps } from "./bookkeeping";
import { bookDay } from "./bookkeeping";

const BATCH = 200;

export interface SweepOptions {
  /** Time for tests; Redis' own otherwise. */
  readonly nowMs?: number;
}

/**
 * Expires what is due in one organisation. Returns how many were ended. Does nothing while the organisation is fenced.
 * Safe to repeat and to run in several processes: the script ends a reservation once.
 */
export async function sweepReservations(
  deps: BookkeepingDeps,
  organisationId: string,
  options: SweepOptions = {},
): Promise<number> {
  const nowMs = options.nowMs ?? (await readStoreTimeMs(deps.store));
  let expired = 0;
  // What could not be ended stays in front; it must not hide the others.
  let skip = 0;
  for (;;) {
    const ids = await listDueReservations(deps.store, organisationId, nowMs, BATCH, skip);
    const { ended, isFenced } = await sweepSome(deps, organisationId, ids, { ...options, nowMs });
    expired += ended;
    skip += ids.length - ended;
    if (isFenced || ids.length < BATCH) return expired;
  }
}

async function sweepSome(
  deps: BookkeepingDeps,
  organisationId: string,
  ids: readonly string[],
  options: { readonly nowMs: number },
): Promise<{ ended: number; isFenced: boolean }> {
  const stored = await readReservations(deps.store, organisationId, ids);
  const readable = stored.flatMap((reservation) => readReservation(deps, organisationId, reservation) ?? []);
  const rates = await listPriceRates(
    deps.db.pool,
    organisationId,
    readable.map((one) => one.expired.head.priceId),
  );
  let ended = 0;
  for (const { id, expired } of readable) {
    const { event, meters } = expiryOf(
      expired,
      (usage) => priced(usage, rates.get(expired.head.priceId), expired.head.reservedAtMs),
      options.nowMs,
    );
    const outcome = await expireReservation(deps.store, organisationId, {
      reservationId: id,
      meters,
      priceCurrency: event.priceCurrency,
      priceAmount: event.priceAmount,
      day: bookDay(event.reservedAtMs),
      eventJson: JSON.stringify(event),
      nowMs: options.nowMs,
    });
    if (outcome === "fenced") return { ended, isFenced: true };
    if (outcome === "expired") ended += 1;
  }
  return { ended, isFenced: false };
}

function priced(usage: TokenUsage, rates: PriceRates | undefined, atMs: number): ReturnType<typeof costOf> | null {
  if (rates === undefined) return null;
  try {
    return costOf({ usage, rates, atMs });
  } catch {
    // A row without a rate for these tokens: the hold stands in, which was made from rates that existed.
    return null;
  }
}

function readReservation(
  deps: BookkeepingDeps,
  organisationId: string,
  stored: StoredReservation,
): { id: string; expired: ExpiredReservation } | null {
  const head = usageEventHead.safeParse(parseObject(stored.headJson));
  if (!head.success) {
    // Its hold stays and is seen by reconcile: ending it at a guess could bill the wrong budget.
    deps.log.error({ organisationId, reservationId: stored.id }, "a reservation has no readable head");
    return null;
  }
  const counted = tokenUsage.safeParse(parseObject(stored.usageJson));
  return {
    id: stored.id,
    expired: {
      head: head.data,
      lines: stored.lines,
      counted: counted.success ? counted.data : null,
      rungBasisPoints: stored.rungBasisPoints,
      isOverflow: stored.isOverflow,
    },
  };
}

function parseObject(json: string): Record<string, unknown> {
  if (json === "") return {};
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
