/** Rates of price rows by id, for booking what was priced when it was reserved. */
import type { PriceRates } from "@/lib/domain/snapshot";
import { priceRatesSchema } from "@/lib/domain/snapshot";
import type { SqlClient } from "./pool";

/** Rows that are gone or malformed are absent. */
export async function listPriceRates(
  client: SqlClient,
  organisationId: string,
  priceIds: readonly string[],
): Promise<Map<string, PriceRates>> {
  if (priceIds.length === 0) return new Map();
  const result = await client.query<{ id: string; rates: unknown }>(
    `SELECT id, rates FROM prices WHERE organisation_id = $1 AND id = ANY($2)`,
    [organisationId, [...new Set(priceIds)]],
  );
  const rates = new Map<string, PriceRates>();
  for (const row of result.rows) {
    const parsed = priceRatesSchema.safeParse(row.rates);
    if (parsed.success) rates.set(row.id, parsed.data);
  }
  return rates;
}
