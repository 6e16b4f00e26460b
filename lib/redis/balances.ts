/** Reads budgets as they stand: counters and live amounts. Read-only; decisions are made by the reserve script alone. */
import type { Redis } from "ioredis";
import type { BudgetBalance } from "@/lib/gateway/ports";
import { StoreUnavailable } from "@/lib/gateway/ports";
import { keysOf } from "./keys";

type HashFields = readonly (string | null)[];

function grantsAt(text: string | null | undefined, nowMs: number): bigint {
  let sum = 0n;
  for (const [, amount = "0", from = "0", to = "0"] of (text ?? "").matchAll(/(\d+),(\d+),(\d+)/gu)) {
    if (nowMs >= Number(from) && nowMs < Number(to)) sum += BigInt(amount);
  }
  return sum;
}

/** One answer a line, in order; a budget that does not stand in Redis reads as nothing at all. */
export async function readBalances(
  redis: Redis,
  organisationId: string,
  lines: readonly { budgetId: string; periodId: string }[],
  nowMs: number,
): Promise<BudgetBalance[]> {
  const keys = keysOf(organisationId);
  const pipeline = redis.pipeline();
  for (const line of lines) {
    pipeline.hmget(keys.counter(line.budgetId, line.periodId), "s", "h");
    pipeline.hmget(keys.limit(line.budgetId), "l", "o", "f", `g:${line.periodId}`);
  }
  let replies: readonly [Error | null, unknown][];
  try {
    replies = (await pipeline.exec()) ?? [];
  } catch (error) {
    throw new StoreUnavailable("budgets cannot be read", 1000, error);
  }
  const fieldsAt = (index: number): HashFields => {
    const [error, fields] = replies[index] ?? [null, []];
    if (error) throw new StoreUnavailable("budgets cannot be read", 1000, error);
    return fields as HashFields;
  };
  return lines.map((_line, index) => {
    const [settled, held] = fieldsAt(index * 2);
    const [limit, overflow, frozen, grants] = fieldsAt(index * 2 + 1);
    return {
      settled: BigInt(settled ?? "0"),
      held: BigInt(held ?? "0"),
      limit: BigInt(limit ?? "0") + grantsAt(grants, nowMs),
      overflow: BigInt(overflow ?? "0"),
      isFrozen: frozen === "1",
    };
  });
}
