/** What recovery reads and writes in Redis: who has announced, what stands, and the one step that ends a fence. */
import type { HotConnection } from "./client";
import { keysOf } from "./keys";
import { numberAt, runScript } from "./scripts";

/** A fence raised by hand: nothing was lost, so nobody has to announce anything. */
function repairFence(runId: string): string {
  return `repair:${runId}`;
}

export interface FenceState {
  /** Run id of the server behind the connection; undefined where it is not known now. */
  readonly runId: string | undefined;
  readonly isFenced: boolean;
  /** Whether calls known to gateways may be missing here, so that they must announce first. */
  readonly mayLackCalls: boolean;
  /** Whether counters were ever proved here. */
  readonly hasGeneration: boolean;
}

export async function readFence(connection: HotConnection, organisationId: string): Promise<FenceState> {
  const runId = connection.runId();
  const generation = await connection.redis.get(keysOf(organisationId).generation);
  if (runId === undefined) return { runId, isFenced: true, mayLackCalls: true, hasGeneration: generation !== null };
  return {
    runId,
    isFenced: generation !== runId,
    mayLackCalls: generation !== runId && generation !== repairFence(runId),
    hasGeneration: generation !== null,
  };
}

/** Fences an organisation whose counters are to be computed anew. Whoever finds the fence ends it, also after a crash. */
export async function raiseRepairFence(connection: HotConnection, organisationId: string): Promise<void> {
  const runId = connection.runId();
  if (runId === undefined) throw new Error("no connection to Redis");
  await connection.redis.set(keysOf(organisationId).generation, repairFence(runId));
}

/** Gateways whose registration holds at Redis' time `nowMs` and that have not announced to this server. */
export async function listSilentGateways(
  connection: HotConnection,
  organisationId: string,
  runId: string,
  nowMs: number,
): Promise<string[]> {
  const keys = keysOf(organisationId);
  const [registered, announced] = await Promise.all([
    connection.redis.zrangebyscore(keys.gateways, `(${nowMs}`, "+inf"),
    connection.redis.smembers(keys.announced(runId)),
  ]);
  const done = new Set(announced);
  return registered.filter((id) => !done.has(id));
}

/** Id of the last entry the usage stream ever had; undefined while it still has entries. */
export async function readDrainedStreamId(
  connection: HotConnection,
  organisationId: string,
): Promise<string | undefined> {
  const info = (await connection.redis.xinfo("STREAM", keysOf(organisationId).usage)) as (string | number)[];
  const field = (name: string) => info[info.indexOf(name) + 1];
  return field("length") === 0 ? String(field("last-generated-id")) : undefined;
}

export async function readEpochText(connection: HotConnection, organisationId: string): Promise<string> {
  return (await connection.redis.get(keysOf(organisationId).epoch)) ?? "";
}

/** Names of every counter and book that stands, whatever period or budget they are of; sessions, which begin anew. */
export async function scanMoneyKeys(connection: HotConnection, organisationId: string): Promise<string[]> {
  const { prefix } = keysOf(organisationId);
  const found = new Set<string>();
  for (const kind of ["c", "ses", "book"]) {
    let cursor = "0";
    do {
      const [next, names] = await connection.redis.scan(cursor, "MATCH", `${prefix}${kind}:*`, "COUNT", 1000);
      cursor = next;
      for (const name of names) found.add(name);
    } while (cursor !== "0");
  }
  return [...found];
}

export interface RebuiltCounter {
  readonly budgetId: string;
  readonly periodId: string;
  /** Everything settled, the opening included. */
  readonly settled: bigint;
  readonly opening: bigint;
}

export interface RebuiltBook {
  readonly day: string;
  readonly amounts: ReadonlyMap<string, bigint>;
}

export interface RebuildPlan {
  readonly runId: string;
  readonly streamId: string;
  readonly epoch: string;
  readonly appliedSequence: bigint;
  readonly deletedKeys: readonly string[];
  readonly counters: readonly RebuiltCounter[];
  readonly books: readonly RebuiltBook[];
  /** Every open reservation, and the state to close it with where the ledger has its attempt already. */
  readonly reservations: readonly { readonly id: string; readonly closeAs: "s" | "e" | null }[];
}

export type RebuildOutcome = "done" | "sound" | "stream_moved" | "other_server" | "reservations_moved" | "epoch_moved";
const OUTCOMES: readonly RebuildOutcome[] = [
  "done",
  "sound",
  "stream_moved",
  "other_server",
  "reservations_moved",
  "epoch_moved",
];

/** One atomic step; whatever moved since the plan was read is an outcome, and nothing is written then. */
export async function rebuildCounters(
  connection: HotConnection,
  organisationId: string,
  plan: RebuildPlan,
): Promise<{ readonly outcome: RebuildOutcome; readonly openReservations: number }> {
  const keys = keysOf(organisationId);
  const { deletedKeys, counters, books, reservations } = plan;
  const args: (string | number)[] = [plan.runId, plan.streamId, plan.epoch, plan.appliedSequence.toString()];
  args.push(deletedKeys.length, counters.length, books.length, reservations.length);
  for (const counter of counters) args.push(counter.settled.toString(), counter.opening.toString());
  for (const book of books) {
    args.push(book.amounts.size);
    for (const [currency, amount] of book.amounts) args.push(currency, amount.toString());
  }
  for (const reservation of reservations) args.push(reservation.id, reservation.closeAs ?? "");
  const reply = await runScript(
    connection.redis,
    "rebuild",
    [
      keys.generation,
      keys.deadlines,
      keys.usage,
      keys.appliedSequence,
      keys.epoch,
      ...deletedKeys,
      ...counters.map((counter) => keys.counter(counter.budgetId, counter.periodId)),
      ...books.map((book) => keys.book(book.day)),
      ...reservations.map((reservation) => keys.reservation(reservation.id)),
    ],
    args,
  );
  return { outcome: OUTCOMES[numberAt(reply, 0)] ?? "other_server", openReservations: numberAt(reply, 1) };
}

/** Sums of the book that stand, by UTC day and price currency. */
export async function readBooks(
  connection: HotConnection,
  organisationId: string,
  days: readonly string[],
): Promise<Map<string, Map<string, bigint>>> {
  const pipeline = connection.redis.pipeline();
  for (const day of days) pipeline.hgetall(keysOf(organisationId).book(day));
  const replies = (await pipeline.exec()) ?? [];
  return new Map(
    days.map((day, index) => {
      const [error, value] = replies[index] ?? [new Error("no answer"), null];
      if (error !== null) throw error;
      const fields = Object.entries(value as Record<string, string>);
      return [day, new Map(fields.map(([currency, amount]) => [currency, BigInt(amount)]))] as const;
    }),
  );
}
