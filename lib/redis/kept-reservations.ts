/** Reservations that a process keeps for longer than its own life: read as the scripts wrote them, to be told to a Redis that lost them. */
import type { HotConnection } from "./client";
import { keysOf } from "./keys";
import { openReservationOf } from "./sweeper";

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
    const open = openReservationOf(texts[index]);
    if (!open) continue;
    const { usageJson: _usage, ...hold } = open;
    holds.set(id, hold);
  }
  return holds;
}
