// Reservations for tests of the bookkeeping, made through the gateway's own adapter.
import type { Db } from "@/lib/db/client";
import type { RecoveryDeps } from "@/lib/control/recovery";
import { publishAll } from "@/lib/control/snapshots";
import type { BookkeepingDeps } from "@/lib/control/bookkeeping";
import { systemClock } from "@/lib/domain/clock";
import type { UsageEvent, UsageEventHead } from "@/lib/domain/usage-event";
import { usageEventHead } from "@/lib/domain/usage-event";
import type { ExtendOutcome, ReserveInput } from "@/lib/gateway/ports";
import type { RedisBudgetLedger } from "@/lib/redis/budget-ledger";
import { settlementOfEvent } from "@/lib/redis/event-settlement";
import { keysOf } from "@/lib/redis/keys";
import type { Redis } from "ioredis";

export function recoveryDeps(deps: BookkeepingDeps, options: { readonly graceMs?: number } = {}): RecoveryDeps {
  const control = {
    db: deps.db,
    redis: deps.store.redis,
    clock: systemClock,
    masterKey: Buffer.alloc(32),
    pepper: Buffer.alloc(32),
  };
  return {
    ...deps,
    graceMs: options.graceMs ?? 0,
    publish: async (organisationId, how) => {
      await publishAll(control, organisationId, how);
    },
  };
}

/** Holds what the event's head says on the budgets of its lines. Throws where the store refuses. */
export async function reserveFor(ledger: RedisBudgetLedger, redis: Redis, event: UsageEvent): Promise<void> {
  const outcome = await ledger.reserve(await reserveInputFor(redis, event));
  if (outcome.code !== "reserved") throw new Error(`not reserved: ${outcome.code}`);
}

export async function reserveInputFor(redis: Redis, event: UsageEvent): Promise<ReserveInput> {
  const head: UsageEventHead = usageEventHead.parse(event);
  return {
    organisationId: event.organisationId,
    reservationId: `${event.requestId}:${event.attempt}`,
    epoch: (await redis.get(keysOf(event.organisationId).epoch)) ?? "",
    windowStartMs: 0,
    windowEndMs: Number.MAX_SAFE_INTEGER,
    budgets: event.lines.map((line) => ({
      budgetId: line.b,
      periodId: line.p,
      meter: line.m,
      enforcement: "enforce" as const,
      rungs: "",
      overflowPlan: null,
    })),
    plans: [event.lines.map(() => event.heldAmount)],
    rateLimits: [],
    askedTokens: 0,
    head: { opening: "", call: JSON.stringify(head).slice(0, -1), servings: [""], held: [""] },
    previous: null,
  };
}

/** Raises what the event's call holds on each of its lines; `number` counts its extensions. */
export async function extendFor(
  ledger: RedisBudgetLedger,
  redis: Redis,
  event: UsageEvent,
  number: number,
  amount: bigint,
): Promise<ExtendOutcome> {
  const { budgets, epoch, organisationId, reservationId } = await reserveInputFor(redis, event);
  const heldAmount = String(BigInt(event.heldAmount) + BigInt(number) * amount);
  return ledger.extend({
    ...{ budgets, epoch, organisationId, reservationId, sequence: number },
    amounts: budgets.map(() => String(amount)),
    headJson: JSON.stringify({ ...usageEventHead.parse(event), heldAmount }),
    usage: event.usage,
  });
}

export async function settleFor(ledger: RedisBudgetLedger, event: UsageEvent): Promise<void> {
  await ledger.settle(
    { organisationId: event.organisationId, reservationId: `${event.requestId}:${event.attempt}` },
    settlementOfEvent(event, event),
  );
}

/** The three books of one organisation, summed. */
export async function booksOf(
  db: Db,
  redis: Redis,
  organisationId: string,
  budgetId: string,
  periodId: string,
): Promise<{ ledger: bigint; rollup: bigint; settled: string | null; held: string | null; book: bigint }> {
  const keys = keysOf(organisationId);
  const ledger = await db.prisma.ledgerEntry.aggregate({ where: { organisationId }, _sum: { amount: true } });
  const rollup = await db.prisma.budgetRollup.aggregate({
    where: { organisationId, budgetId },
    _sum: { amount: true },
  });
  const [settled = null, held = null] = await redis.hmget(keys.counter(budgetId, periodId), "s", "h");
  let book = 0n;
  for (const key of await redis.keys(`${keys.prefix.replace("{", "?").replace("}", "?")}book:*`)) {
    for (const amount of Object.values(await redis.hgetall(key))) book += BigInt(amount);
  }
  return { ledger: ledger._sum.amount ?? 0n, rollup: rollup._sum.amount ?? 0n, settled, held, book };
}
