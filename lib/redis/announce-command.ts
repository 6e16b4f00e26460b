/** What this process knows of one call to the keys and arguments of announce-4.lua. */
import { keysOf } from "./keys";
import type { OpenCall } from "./open-reservations";

/** `deadlineMs` is of the clock that the script's server follows. */
export function announceCommand(
  organisationId: string,
  call: OpenCall,
  runId: string,
  deadlineMs: number,
): { readonly keys: string[]; readonly args: (string | number)[] } {
  const keys = keysOf(organisationId);
  const settlement = call.end?.settlement ?? null;
  const state = call.end === undefined ? "p" : settlement === null ? "v" : "s";
  return {
    keys: [keys.reservation(call.reservationId), keys.generation, keys.deadlines, keys.usage],
    args: [
      call.reservationId,
      runId,
      state,
      String(deadlineMs),
      call.amounts,
      call.headJson,
      settlement?.resultJson ?? "",
      call.rungBasisPoints,
      call.isOverflow ? 1 : 0,
      call.counters,
      call.extension,
    ],
  };
}
