/** The heartbeat of one process for one organisation to the keys and arguments of renew-n.lua. */
import { keysOf } from "./keys";
import type { OpenCall } from "./open-reservations";

/** A process that has not been heard of for so long is not waited for by a recovery. */
const REGISTRATION_MS = 6_000;

export interface Renewal {
  readonly gatewayId: string;
  readonly leaseMs: number;
  /** Time for tests; "" for the server's own. */
  readonly nowMs: string;
}

export function renewCommand(
  organisationId: string,
  calls: readonly OpenCall[],
  { gatewayId, leaseMs, nowMs }: Renewal,
): { readonly keys: string[]; readonly args: string[] } {
  const keys = keysOf(organisationId);
  const args = [gatewayId, nowMs, String(REGISTRATION_MS), String(leaseMs)];
  for (const { reservationId, usageJson } of calls) args.push(reservationId, usageJson);
  const reservations = calls.map((call) => keys.reservation(call.reservationId));
  return { keys: [keys.epoch, keys.generation, keys.booked, keys.gateways, keys.deadlines, ...reservations], args };
}
