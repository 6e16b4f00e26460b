/** Reads reservations whose lease ran out and ends them; the scripts decide, so a renewal in the same instant wins. */
import type { Meter } from "@/lib/domain/snapshot";
import { METERS } from "@/lib/domain/snapshot";
import type { HotConnection } from "./client";
import { keysOf } from "./keys";
import { numberAt, runScript } from "./scripts";

/** An open reservation as the reserve script wrote it (scripts/includes/reservation.lua). */
export interface StoredReservation {
  readonly id: string;
  /** UsageEventHead as JSON. */
  readonly headJson: string;
  /** TokenUsage as JSON, or "". */
  readonly usageJson: string;
  readonly lines: readonly StoredLine[];
  readonly rungBasisPoints: number;
  readonly isOverflow: boolean;
}

export interface StoredLine {
  readonly budgetId: string;
  readonly periodId: string;
  readonly meter: Meter;
  readonly held: bigint;
}

/** Unix ms by Redis' own clock, by which deadlines and registrations are measured. */
export async function readStoreTimeMs(connection: HotConnection): Promise<number> {
  const [seconds, micros] = await connection.redis.time();
  return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
}

/** Ids whose deadline is at or before `nowMs`, earliest first, without the first `skip`. */
export async function listDueReservations(
  connection: HotConnection,
  organisationId: string,
  nowMs: number,
  limit: number,
  skip: number,
): Promise<string[]> {
  return connection.redis.zrangebyscore(keysOf(organisationId).deadlines, "-inf", nowMs, "LIMIT", skip, limit);
}

/** Every id that is still open, with its deadline passed or not. */
export async function listOpenReservations(connection: HotConnection, organisationId: string): Promise<string[]> {
  return connection.redis.zrange(keysOf(organisationId).deadlines, 0, -1);
}

/** The open ones of these; ids that are resolved or gone are left out. */
export async function readReservations(
  connection: HotConnection,
  organisationId: string,
  ids: readonly string[],
): Promise<StoredReservation[]> {
  if (ids.length === 0) return [];
  const keys = keysOf(organisationId);
  const texts = await connection.redis.mget(ids.map((id) => keys.reservation(id)));
  return ids.flatMap((id, index) => {
    const open = openReservationOf(texts[index]);
    if (!open) return [];
    const { counters, amounts, ...facts } = open;
    return [{ id, ...facts, lines: heldLines(organisationId, counters, amounts) }];
  });
}

/** An open reservation with its counters and amounts as they are packed; undefined for one that is resolved or gone. */
export function openReservationOf(
  text: string | null | undefined,
): (Omit<StoredReservation, "id" | "lines"> & { readonly counters: string; readonly amounts: string }) | undefined {
  const [state, taken = "", counters = "", , , common = "", amounts = "", own = "", usageJson = ""] = (
    text ?? ""
  ).split("\n");
  if (state !== "p") return undefined;
  const [, rung, overflow] = taken.split(" ");
  return {
    counters,
    amounts,
    headJson: `${common}${own}}`,
    usageJson,
    rungBasisPoints: Number(rung ?? 0),
    isOverflow: overflow === "1",
  };
}

/** "counterKey|meter;" for each budget and "held " for each, "-" where nothing is held. */
export function heldLines(organisationId: string, counters: string, amounts: string): StoredLine[] {
  const prefix = `${keysOf(organisationId).prefix}c:`;
  const held = amounts.split(" ");
  return counters
    .split(";")
    .slice(0, -1)
    .flatMap((counter, index) => {
      const amount = held[index] ?? "-";
      if (amount === "-") return [];
      const [key = "", meter] = counter.split("|");
      // What a session may use is no budget: the ledger does not know of it.
      if (!key.startsWith(prefix)) return [];
      const [budgetId = "", periodId = ""] = key.slice(prefix.length).split(":");
      return [{ budgetId, periodId, meter: METERS.find((known) => known === meter) ?? "cost", held: BigInt(amount) }];
    });
}

export interface ExpireCommand {
  readonly reservationId: string;
  readonly meters: Readonly<Record<Meter, bigint>>;
  readonly priceCurrency: string;
  readonly priceAmount: string;
  /** UTC day of the book. */
  readonly day: string;
  readonly eventJson: string;
  /** Time for tests; the server's own otherwise. */
  readonly nowMs?: number;
}

export type ExpireOutcome = "expired" | "not_due" | "nothing" | "fenced";
const OUTCOMES: readonly ExpireOutcome[] = ["expired", "not_due", "nothing", "fenced"];

export async function expireReservation(
  connection: HotConnection,
  organisationId: string,
  command: ExpireCommand,
): Promise<ExpireOutcome> {
  const runId = connection.runId();
  if (runId === undefined) return "fenced";
  const keys = keysOf(organisationId);
  const { meters } = command;
  const reply = await runScript(
    connection.redis,
    "expire",
    [keys.reservation(command.reservationId), keys.generation, keys.deadlines, keys.usage, keys.book(command.day)],
    [
      command.reservationId,
      runId,
      command.nowMs === undefined ? "" : String(command.nowMs),
      meters.cost.toString(),
      meters.input_tokens.toString(),
      meters.output_tokens.toString(),
      meters.total_tokens.toString(),
      meters.requests.toString(),
      command.priceCurrency,
      command.priceAmount,
      command.eventJson,
    ],
  );
  return OUTCOMES[numberAt(reply, 0)] ?? "nothing";
}
