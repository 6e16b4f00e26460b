import type { SqlClient } from "./pool";

/** Partitions for `months` months from that of `from` (UTC) on; returns how many were new. */
export async function createLedgerPartitions(client: SqlClient, from: Date, months: number): Promise<number> {
  const result = await client.query<{ created: number }>(`SELECT ensure_ledger_partitions($1::date, $2) AS created`, [
    from.toISOString().slice(0, 10),
    months,
  ]);
  return result.rows[0]?.created ?? 0;
}
