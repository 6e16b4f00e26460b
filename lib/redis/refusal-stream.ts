/** Refused calls on their way to Postgres: a capped stream, read without a group, since losing one costs nobody money. */
import type { HotConnection } from "./client";
import { keysOf } from "./keys";

export async function readRefusals(
  connection: HotConnection,
  organisationId: string,
  count: number,
): Promise<{ id: string; json: string }[]> {
  const entries = await connection.redis.xrange(keysOf(organisationId).refusals, "-", "+", "COUNT", count);
  return entries.map(([id, fields]) => ({ id, json: fields[fields.indexOf("e") + 1] ?? "" }));
}

export async function removeRefusals(
  connection: HotConnection,
  organisationId: string,
  ids: readonly string[],
): Promise<void> {
  if (ids.length > 0) await connection.redis.xdel(keysOf(organisationId).refusals, ...ids);
}
