/**
 * The three books side by side: what the sandbox says it sold, what the ledger in Postgres holds, what the counters in
 * Redis stand at. All amounts are nanos of USD. Read them once traffic is quiet (`waitQuiet`).
 */
import { keysOf } from "@/lib/redis/keys";
import { waitUntil } from "@/lib/services/wait";
import type { Company } from "./company";
import type { BenchStack } from "./stack";

/** What the readers need of a company; few fields, so that others can build it. */
export interface BookOwner extends Pick<Company, "organisationId" | "billLabel"> {
  /** Origins of sandboxes beside the stack's own that sell to it, too. */
  readonly alsoBilledAt?: readonly string[];
}

/** Origins of all sandboxes that sell to these companies. */
export function billOrigins(stack: BenchStack, owners: readonly BookOwner[]): ReadonlySet<string> {
  return new Set([stack.sandbox.url, ...owners.flatMap((owner) => owner.alsoBilledAt ?? [])]);
}

export interface ModelBook {
  readonly model: string;
  readonly billCalls: number;
  readonly bill: bigint;
  readonly ledgerCalls: number;
  readonly ledger: bigint;
}

export interface ThreeBooks {
  readonly models: readonly ModelBook[];
  readonly bill: bigint;
  readonly ledger: bigint;
  /** `book:<day>` of Redis over all days; it does not know models. */
  readonly counters: bigint;
}

export interface BudgetStanding {
  readonly organisationId: string;
  readonly budgetId: string;
  readonly name: string;
  readonly periodId: string;
  readonly enforcement: string;
  readonly limit: bigint;
  readonly overflow: bigint;
  /** Active now. */
  readonly grants: bigint;
  readonly settled: bigint;
  readonly held: bigint;
  /** Opening balance in this period and the lines of ledger entries. */
  readonly booked: bigint;
}

/** Settled and held above limit + overflow + active grants; 0 where it fits. */
export function excessOf(standing: BudgetStanding): bigint {
  const excess = standing.settled + standing.held - standing.limit - standing.overflow - standing.grants;
  return excess > 0n ? excess : 0n;
}

type Totals = Readonly<
  Record<string, Readonly<Record<string, { readonly calls: number; readonly amountNanos: string }>>>
>;

export async function readBooks(stack: BenchStack, owners: readonly BookOwner[]): Promise<ThreeBooks> {
  const models = new Map<string, ModelBook>();
  const add = (model: string, part: Omit<ModelBook, "model">): void => {
    const known = models.get(model) ?? { model, billCalls: 0, bill: 0n, ledgerCalls: 0, ledger: 0n };
    models.set(model, {
      model,
      billCalls: known.billCalls + part.billCalls,
      bill: known.bill + part.bill,
      ledgerCalls: known.ledgerCalls + part.ledgerCalls,
      ledger: known.ledger + part.ledger,
    });
  };
  for (const origin of billOrigins(stack, owners)) {
    const response = await fetch(`${origin}/bill/totals`);
    const { totals } = (await response.json()) as { totals: Totals };
    for (const label of new Set(owners.map((owner) => owner.billLabel))) {
      for (const [model, { calls, amountNanos }] of Object.entries(totals[label] ?? {})) {
        add(model, { billCalls: calls, bill: BigInt(amountNanos), ledgerCalls: 0, ledger: 0n });
      }
    }
  }
  const { rows } = await stack.control.db.pool.query<{ model: string; calls: string; amount: string }>(
    `select model_served as model, count(*) filter (where kind = 'usage' and coalesce(usage->>'requests', '') <> '0') as calls, sum(price_amount)::text as amount
       from ledger_entries where organisation_id = any($1) group by 1`,
    [owners.map((owner) => owner.organisationId)],
  );
  for (const { model, calls, amount } of rows) {
    add(model, { billCalls: 0, bill: 0n, ledgerCalls: Number(calls), ledger: BigInt(amount) });
  }
  const list = [...models.values()].sort((a, b) => a.model.localeCompare(b.model));
  return {
    models: list,
    bill: list.reduce((sum, book) => sum + book.bill, 0n),
    ledger: list.reduce((sum, book) => sum + book.ledger, 0n),
    counters: await readRedisBook(stack, owners),
  };
}

async function readRedisBook(stack: BenchStack, owners: readonly BookOwner[]): Promise<bigint> {
  let sum = 0n;
  for (const { organisationId } of owners) {
    for (const key of await scanKeys(stack, `${keysOf(organisationId).prefix}book:*`)) {
      for (const amount of Object.values(await stack.store.redis.hgetall(key))) sum += BigInt(amount);
    }
  }
  return sum;
}

export async function scanKeys(stack: BenchStack, pattern: string): Promise<string[]> {
  const found = new Set<string>();
  let cursor = "0";
  do {
    const [next, keys] = await stack.store.redis.scan(cursor, "MATCH", pattern, "COUNT", 5_000);
    for (const key of keys) found.add(key);
    cursor = next;
  } while (cursor !== "0");
  return [...found];
}

interface BudgetRow {
  readonly organisation_id: string;
  readonly id: string;
  readonly name: string;
  readonly enforcement: string;
  readonly limit_amount: string;
  readonly overflow_amount: string;
  readonly opening_period_id: string | null;
  readonly opening_amount: string;
}

/** Every budget in every period that has a counter or a ledger line. */
export async function readStandings(stack: BenchStack, owners: readonly BookOwner[]): Promise<BudgetStanding[]> {
  const ids = owners.map((owner) => owner.organisationId);
  const { pool } = stack.control.db;
  const budgets = await pool.query<BudgetRow>("select * from budgets where organisation_id = any($1) order by id", [
    ids,
  ]);
  const sums = await pool.query<{ b: string; p: string; amount: string }>(
    `select line->>'b' as b, line->>'p' as p, sum((line->>'a')::numeric)::text as amount
       from ledger_entries, jsonb_array_elements(lines) line where organisation_id = any($1) group by 1, 2`,
    [ids],
  );
  const grants = await pool.query<{ b: string; p: string; amount: string }>(
    `select budget_id as b, period_id as p, sum(amount)::text as amount from grants
      where organisation_id = any($1) and revoked_at is null and ends_at > now() group by 1, 2`,
    [ids],
  );
  const amountOf = (
    rows: readonly { b: string; p: string; amount: string }[],
    budgetId: string,
    periodId: string,
  ): bigint => BigInt(rows.find((row) => row.b === budgetId && row.p === periodId)?.amount ?? "0");
  const counters = await readCounters(stack, ids);
  return budgets.rows.flatMap((row) => {
    const standing = counters.filter((counter) => counter.budgetId === row.id);
    const periods = new Set([
      ...standing.map((one) => one.periodId),
      ...sums.rows.filter((one) => one.b === row.id).map((one) => one.p),
    ]);
    return [...periods].map((periodId): BudgetStanding => {
      const counter = standing.find((one) => one.periodId === periodId);
      return {
        organisationId: row.organisation_id,
        budgetId: row.id,
        name: row.name,
        periodId,
        enforcement: row.enforcement,
        limit: BigInt(row.limit_amount),
        overflow: BigInt(row.overflow_amount),
        grants: amountOf(grants.rows, row.id, periodId),
        settled: counter?.settled ?? 0n,
        held: counter?.held ?? 0n,
        booked:
          amountOf(sums.rows, row.id, periodId) +
          (row.opening_period_id === periodId ? BigInt(row.opening_amount) : 0n),
      };
    });
  });
}

interface Counter {
  readonly budgetId: string;
  readonly periodId: string;
  readonly settled: bigint;
  readonly held: bigint;
}

/** All counters of these organisations as Redis has them now. */
export async function readCounters(stack: BenchStack, organisationIds: readonly string[]): Promise<Counter[]> {
  const counters: Counter[] = [];
  for (const organisationId of organisationIds) {
    const prefix = `${keysOf(organisationId).prefix}c:`;
    const keys = await scanKeys(stack, `${prefix}*`);
    const values = await Promise.all(keys.map((key) => stack.store.redis.hmget(key, "s", "h")));
    keys.forEach((key, index) => {
      const [budgetId = "", ...period] = key.slice(prefix.length).split(":");
      const [settled, held] = values[index] ?? [];
      counters.push({
        budgetId,
        periodId: period.join(":"),
        settled: BigInt(settled ?? "0"),
        held: BigInt(held ?? "0"),
      });
    });
  }
  return counters;
}

/**
 * Waits until nothing is under way: usage streams booked, no reservation open, nothing held. Resolves to false where that
 * does not come within `timeoutMs` (the books are then read as they are, and the laws say what is wrong).
 */
export async function waitQuiet(stack: BenchStack, owners: readonly BookOwner[], timeoutMs = 30_000): Promise<boolean> {
  const { redis } = stack.store;
  const isQuiet = async (): Promise<boolean> => {
    for (const { organisationId } of owners) {
      const keys = keysOf(organisationId);
      // The connection may be lost while a bench kills what is behind it; then it is not quiet.
      // Open ones are read first: what ends between the two stands in the stream by the second.
      const [open, waiting] = await Promise.all([redis.zcard(keys.deadlines), redis.xlen(keys.usage)]).catch(() => [
        1, 1,
      ]);
      if (waiting > 0 || open > 0) return false;
    }
    return (
      await readCounters(
        stack,
        owners.map((owner) => owner.organisationId),
      )
    ).every((counter) => counter.held === 0n);
  };
  return waitUntil(isQuiet, { timeoutMs, everyMs: 100 });
}
