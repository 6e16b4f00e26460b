/** Reservations that a process keeps for longer than its own life: read as the scripts wrote them, to be told to a Redis that lost them. */
import type { HotConnection } from "./client";
import { keysOf } from "./keys";

export interface KeptHold {
  /** Packed as scripts/includes/reservation.lua has them. */
  readonly counters: string;
  readonly amounts: string;
  readonly headJson: string;
  readonly rungBasisPoints: number;
  readonly isOverflow: boolean;
}

/** By id; those that are not open are left out. */
export async function readHolds(
  connection: HotConnection,
  organisationId: string,
  ids: readonly string[],
): Promise<Map<string, KeptHold>> {
  const keys = keysOf(organisationId);
  const texts = await connection.redis.mget(ids.map((id) => keys.reservation(id)));
  const holds = new Map<string, KeptHold>();
  for (const [index, id] of ids.entries()) {
    const [state, taken = "", counters = "", amounts = "", , , headJson = ""] = (texts[index] ?? "").split("\n");
    if (state !== "p") continue;
    const [, rung = "0", overflow] = taken.split(" ");
    holds.set(id, { counters, amounts, headJson, rungBasisPoints: Number(rung), isOverflow: overflow === "1" });
  }
  return holds;
}
