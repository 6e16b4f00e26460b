/** Runs of comparing the three books, and what they read from the ledger. */
import type { UsageEvent } from "@/lib/domain/usage-event";
import type { AttemptKey } from "./ledger-entries";
import type { SqlClient } from "./pool";

export interface NewReconciliation {
  readonly id: string;
  readonly organisationId: string;
  readonly providerId: string | null;
  readonly currency: string;
  readonly billAmount: bigint | null;
  readonly ledgerAmount: bigint;
  readonly counterAmount: bigint | null;
  readonly corrections: number;
  readonly detail: Readonly<Record<string, unknown>>;
}

export async function insertReconciliation(client: SqlClient, row: NewReconciliation): Promise<void> {
  await client.query(
    `INSERT INTO reconciliations (id, organisation_id, provider_id, currency, bill_amount, ledger_amount, counter_amount, corrections, detail)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9::jsonb)`,
    [
      row.id,
      row.organisationId,
      row.providerId,
      row.currency,
      row.billAmount?.toString() ?? null,
      row.ledgerAmount.toString(),
      row.counterAmount?.toString() ?? null,
      row.corrections,
      JSON.stringify(row.detail),
    ],
  );
}

/** Detail of the provider's last run: it carries how far its bill was read. Null before the first. */
export async function findLastDetail(client: SqlClient, organisationId: string, providerId: string): Promise<unknown> {
  const result = await client.query<{ detail: unknown }>(
    `SELECT detail FROM reconciliations WHERE organisation_id = $1 AND provider_id = $2 ORDER BY created_at DESC, id DESC LIMIT 1`,
    [organisationId, providerId],
  );
  return result.rows[0]?.detail ?? null;
}

/**
 * Drops runs made before `before`, but the newest of each provider: it says how far that bill was read. Returns how many.
 */
export async function deleteOldReconciliations(client: SqlClient, before: Date): Promise<number> {
  const result = await client.query(
    `DELETE FROM reconciliations old WHERE created_at < $1 AND EXISTS (
       SELECT 1 FROM reconciliations newer WHERE newer.organisation_id = old.organisation_id
         AND newer.provider_id IS NOT DISTINCT FROM old.provider_id AND newer.currency = old.currency
         AND (newer.created_at, newer.id) > (old.created_at, old.id))`,
    [before],
  );
  return result.rowCount ?? 0;
}

/** What the ledger cost by provider ("" for none) and price currency, in nanos of it, from the rollups. */
export async function listLedgerSums(
  client: SqlClient,
  organisationId: string,
): Promise<{ providerId: string; currency: string; amount: bigint }[]> {
  const result = await client.query<{ provider_id: string; price_currency: string; amount: string }>(
    `SELECT provider_id, price_currency, sum(price_amount)::bigint AS amount FROM usage_rollups
     WHERE organisation_id = $1 GROUP BY 1, 2`,
    [organisationId],
  );
  return result.rows.map((row) => ({
    providerId: row.provider_id,
    currency: row.price_currency,
    amount: BigInt(row.amount),
  }));
}

// The event an entry was made from, as far as a correction repeats it.
const EVENT_SQL = `jsonb_build_object(
  'organisationId', organisation_id, 'requestId', request_id, 'attempt', attempt,
  'reservedAtMs', (extract(epoch FROM reserved_at) * 1000)::bigint, 'settledAtMs', (extract(epoch FROM settled_at) * 1000)::bigint,
  'apiKeyId', api_key_id, 'appId', app_id, 'consumerPath', consumer_path, 'endUser', end_user, 'environment', environment,
  'trafficClass', traffic_class, 'route', route, 'isStream', is_stream, 'modelRequested', model_requested,
  'modelServed', model_served, 'providerId', provider_id, 'deploymentId', deployment_id, 'priceId', price_id,
  'priceCurrency', price_currency, 'currency', currency, 'fxRate', fx_rate, 'heldAmount', held_amount::text,
  'heldInputTokens', 0, 'heldOutputTokens', 0, 'unknownOutcome', 'hold', 'kind', 'settled', 'outcome', outcome,
  'isEstimated', is_estimated, 'isOverflow', is_overflow, 'decision', decision, 'rungBasisPoints', rung, 'usage', usage,
  'components', components, 'priceAmount', price_amount::text, 'amount', amount::text, 'savedAmount', saved_amount::text,
  'lines', lines, 'latencyMs', latency_ms, 'firstByteMs', first_byte_ms, 'statusCode', status_code, 'explanation', explanation)`;

/** First entries of the attempts named, as events. */
export async function findBaseEvents(
  client: SqlClient,
  organisationId: string,
  keys: readonly AttemptKey[],
): Promise<UsageEvent[]> {
  if (keys.length === 0) return [];
  const result = await client.query<{ event: UsageEvent }>(
    `SELECT ${EVENT_SQL} AS event
     FROM (SELECT DISTINCT to_timestamp(ms / 1000.0)::timestamptz(3) AS at, id, number
           FROM unnest($2::double precision[], $3::text[], $4::integer[]) AS k(ms, id, number)) AS k
     JOIN ledger_entries ON reserved_at = k.at AND request_id = k.id AND attempt = k.number
     WHERE organisation_id = $1 AND kind = 'usage'`,
    [
      organisationId,
      keys.map((key) => key.reservedAtMs),
      keys.map((key) => key.requestId),
      keys.map((key) => key.attempt),
    ],
  );
  return result.rows.map((row) => row.event);
}

/** Attempts of a provider booked as an estimate before `bookedBefore` that nothing better has replaced, oldest first. */
export async function listOpenEstimates(
  client: SqlClient,
  wanted: {
    readonly organisationId: string;
    readonly providerId: string;
    readonly reservedFrom: Date;
    readonly bookedBefore: Date;
    readonly limit: number;
  },
): Promise<AttemptKey[]> {
  const result = await client.query<{ request_id: string; attempt: number; reserved_at_ms: string }>(
    `SELECT request_id, attempt, (extract(epoch FROM reserved_at) * 1000)::bigint AS reserved_at_ms FROM ledger_entries l
     WHERE organisation_id = $1 AND provider_id = $2 AND reserved_at >= $3 AND booked_at < $4 AND is_estimated AND kind = 'usage'
       AND NOT EXISTS (SELECT 1 FROM ledger_entries c WHERE c.reserved_at = l.reserved_at AND c.request_id = l.request_id
         AND c.attempt = l.attempt AND c.kind <> 'usage' AND NOT c.is_estimated)
     ORDER BY reserved_at LIMIT $5`,
    [wanted.organisationId, wanted.providerId, wanted.reservedFrom, wanted.bookedBefore, wanted.limit],
  );
  return result.rows.map((row) => ({
    requestId: row.request_id,
    attempt: row.attempt,
    reservedAtMs: Number(row.reserved_at_ms),
  }));
}

/** Providers whose bill names our request ids. */
export async function listBilledProviders(
  client: SqlClient,
  organisationId: string,
): Promise<{ id: string; baseUrl: string }[]> {
  const result = await client.query<{ id: string; baseUrl: string }>(
    `SELECT id, base_url AS "baseUrl" FROM providers WHERE organisation_id = $1 AND billing_mode = 'request' ORDER BY id`,
    [organisationId],
  );
  return result.rows;
}
