/** Adds to the counters what the ledger was told outside the money scripts, once each and in order. */
import type { ChargedLine } from "@/lib/domain/usage-event";
import type { HotConnection } from "./client";
import { keysOf } from "./keys";
import { numberAt, runScript } from "./scripts";

export interface CounterChange {
  readonly sequence: bigint;
  /** UTC day of the reservation, as the book is kept: 2026-01-31. */
  readonly day: string;
  readonly priceCurrency: string;
  readonly priceAmount: bigint;
  readonly lines: readonly ChargedLine[];
}

export type ApplyOutcome = "applied" | "already" | "gap" | "fenced";
const OUTCOMES: readonly ApplyOutcome[] = ["applied", "already", "gap", "fenced"];

/** The last sequence whose lines the counters have; 0 where none was applied yet. */
export async function readApplied(connection: HotConnection, organisationId: string): Promise<bigint> {
  return BigInt((await connection.redis.get(keysOf(organisationId).appliedSequence)) ?? "0");
}

/** Idempotent by sequence. `fenced` also where the server behind the connection is not known. Throws what Redis throws. */
export async function applyToCounters(
  connection: HotConnection,
  organisationId: string,
  change: CounterChange,
): Promise<ApplyOutcome> {
  const runId = connection.runId();
  if (runId === undefined) return "fenced";
  const keys = keysOf(organisationId);
  const reply = await runScript(
    connection.redis,
    "apply",
    [
      keys.appliedSequence,
      keys.generation,
      keys.book(change.day),
      ...change.lines.map((line) => keys.counter(line.b, line.p)),
    ],
    [
      change.sequence.toString(),
      runId,
      change.priceCurrency,
      change.priceAmount.toString(),
      ...change.lines.map((line) => line.a),
    ],
  );
  return OUTCOMES[numberAt(reply, 0)] ?? "gap";
}
