/** A reservation that a gateway leaves to the worker: held for long, so that it outlives every restart of whoever keeps it. */
import type { HotConnection } from "./client";
import { keysOf } from "./keys";
import type { OpenCall } from "./open-reservations";
import { renewCommand } from "./renew-command";
import { runScript } from "./scripts";

/** How long such a hold stands without a sign of life of its keeper, who gives one every second. */
export const KEPT_LEASE_MS = 900_000;

/** Extends the hold and gives its places of these limits of concurrency back. Throws what Redis throws. */
export async function handOverReservation(
  connection: HotConnection,
  organisationId: string,
  call: OpenCall,
  concurrencyLimitIds: readonly string[],
  registered: { readonly gatewayId: string; readonly nowMs: string },
): Promise<void> {
  const { keys, args } = renewCommand(organisationId, [call], { ...registered, leaseMs: KEPT_LEASE_MS });
  await runScript(connection.redis, "renew", keys, args);
  for (const id of concurrencyLimitIds) {
    await connection.redis.zrem(keysOf(organisationId).concurrency(id), call.reservationId);
  }
}
