/**
 * What providers work at after the call that asked for it: batches, and responses in the background. Taken over from the gateways,
 * looked after by one worker at a time, ended once. The table is older than responses: `provider_batches`.
 */
import type { JobFacts, JobMove, JobState } from "@/lib/domain/provider-job";
import { jobFacts } from "@/lib/domain/provider-job";
import type { EventResult } from "@/lib/domain/usage-event";
import type { SqlClient } from "./pool";

/** A reservation as the store wrote it: its counters, amounts and head, packed as the scripts have them. */
export interface JobHold {
  readonly counters: string;
  readonly amounts: string;
  readonly headJson: string;
  readonly rungBasisPoints: number;
  readonly isOverflow: boolean;
}

/** As the provider tells it, without texts. */
export type JobJson = Readonly<Record<string, unknown>>;

/** What a job came to; null where nothing is owed. */
export interface JobEnd {
  readonly result: EventResult | null;
}

export interface ProviderJob<Facts extends JobFacts = JobFacts> {
  readonly facts: Facts;
  readonly state: JobState;
  /** Null where the reservation had ended before anybody looked. */
  readonly hold: JobHold | null;
  /** Null while the provider's answer is not known. */
  readonly said: JobJson | null;
  /** Null until it has ended. */
  readonly end: JobEnd | null;
  readonly tries: number;
}

interface Row {
  readonly state: JobState;
  readonly facts: unknown;
  readonly hold: JobHold | null;
  readonly batch: JobJson | null;
  readonly settlement: JobEnd | null;
  readonly tries: number;
}

const COLUMNS = "b.state, b.facts, b.hold, b.batch, b.settlement, b.tries";

function fromRow(row: Row): ProviderJob {
  const { state, hold, batch: said, settlement, tries } = row;
  return { facts: jobFacts.parse(row.facts), state, hold, said, end: settlement, tries };
}

/**
 * Takes over what a gateway tells of a job. Safe to repeat. One that was thought not to exist and does is taken up again: its
 * provider is paid.
 */
export async function moveJob(client: SqlClient, move: JobMove, hold: JobHold | null): Promise<void> {
  const { facts, to } = move;
  const said = to === "running" ? JSON.stringify(move.said) : null;
  await client.query(
    `INSERT INTO provider_batches (reservation_id, organisation_id, state, facts, hold, batch, next_at, ended_at, created_at)
     VALUES ($1, $2, $3, $4, $5, $6, to_timestamp($7::float8 / 1000.0),
       CASE WHEN $3 = 'void' THEN to_timestamp($7::float8 / 1000.0) END, to_timestamp($7::float8 / 1000.0))
     ON CONFLICT (reservation_id) DO UPDATE
       SET state = EXCLUDED.state, batch = EXCLUDED.batch, hold = COALESCE(provider_batches.hold, EXCLUDED.hold),
         next_at = EXCLUDED.next_at, ended_at = EXCLUDED.ended_at, settlement = NULL
       WHERE (provider_batches.state = 'creating' AND EXCLUDED.state <> 'creating')
         OR (provider_batches.state = 'void' AND EXCLUDED.state = 'running' AND provider_batches.batch IS NULL)`,
    [
      facts.reservationId,
      facts.organisationId,
      to,
      JSON.stringify(facts),
      hold === null ? null : JSON.stringify(hold),
      said,
      facts.createdMs,
    ],
  );
}

/** Every job that has not ended, of all organisations. */
export async function listOpenJobs(client: SqlClient): Promise<ProviderJob[]> {
  const { rows } = await client.query<Row>(`SELECT ${COLUMNS} FROM provider_batches b WHERE b.ended_at IS NULL`);
  return rows.map(fromRow);
}

/** Claims jobs that are due and that nobody has, longest waiting first. */
export async function claimDueJobs(
  client: SqlClient,
  nowMs: number,
  leaseMs: number,
  limit: number,
): Promise<ProviderJob[]> {
  const { rows } = await client.query<Row>(
    `WITH due AS (
       SELECT reservation_id FROM provider_batches
       WHERE ended_at IS NULL AND next_at <= to_timestamp($1::float8 / 1000.0)
         AND (claimed_until IS NULL OR claimed_until < to_timestamp($1::float8 / 1000.0))
       ORDER BY next_at LIMIT $3 FOR UPDATE SKIP LOCKED)
     UPDATE provider_batches AS b SET claimed_until = to_timestamp(($1::float8 + $2) / 1000.0)
     FROM due WHERE b.reservation_id = due.reservation_id RETURNING ${COLUMNS}`,
    [nowMs, leaseMs, limit],
  );
  return rows.map(fromRow);
}

/** Extends a claim while a step is made. */
export async function renewJobClaim(client: SqlClient, reservationId: string, untilMs: number): Promise<void> {
  await client.query(
    `UPDATE provider_batches SET claimed_until = to_timestamp($2::float8 / 1000.0)
     WHERE reservation_id = $1 AND ended_at IS NULL`,
    [reservationId, untilMs],
  );
}

export interface JobStep {
  readonly state: JobState;
  readonly said: JobJson | null;
  readonly end: JobEnd | null;
  readonly tries: number;
  /** When to look again, Unix ms; of a job that ends: its end. */
  readonly atMs: number;
}

/** Writes how a claimed job stands and gives it back. One that has ended stays so. */
export async function stepJob(client: SqlClient, reservationId: string, step: JobStep): Promise<void> {
  const { state, said, end, tries, atMs } = step;
  await client.query(
    `UPDATE provider_batches
     SET state = $2, batch = $3, settlement = $4, tries = $5, claimed_until = NULL, next_at = to_timestamp($6::float8 / 1000.0),
       ended_at = CASE WHEN $2 IN ('settled', 'void') THEN to_timestamp($6::float8 / 1000.0) END
     WHERE reservation_id = $1 AND ended_at IS NULL`,
    [
      reservationId,
      state,
      said === null ? null : JSON.stringify(said),
      end === null ? null : JSON.stringify(end),
      tries,
      atMs,
    ],
  );
}

/** Ids that the provider gave to batches of an organisation: one that is not among them belongs to nobody yet. */
export async function listKnownBatchIds(
  client: SqlClient,
  organisationId: string,
  ids: readonly string[],
): Promise<Set<string>> {
  const { rows } = await client.query<{ id: string }>(
    `SELECT batch ->> 'id' AS id FROM provider_batches WHERE organisation_id = $1 AND batch ->> 'id' = ANY($2)`,
    [organisationId, ids],
  );
  return new Set(rows.map(({ id }) => id));
}

/** Drops jobs that ended before this moment (Unix ms); what they cost stands in the ledger. Returns how many. */
export async function deleteEndedJobs(client: SqlClient, beforeMs: number): Promise<number> {
  const { rowCount } = await client.query(
    "DELETE FROM provider_batches WHERE ended_at < to_timestamp($1::float8 / 1000.0)",
    [beforeMs],
  );
  return rowCount ?? 0;
}

/** Ids of batches and responses whose cost stands in the ledger, or that cost nothing. */
export async function listEndedIds(client: SqlClient, organisationId: string): Promise<string[]> {
  const { rows } = await client.query<{ id: string }>(
    `SELECT batch ->> 'id' AS id FROM provider_batches
     WHERE organisation_id = $1 AND ended_at IS NOT NULL AND batch ->> 'id' IS NOT NULL`,
    [organisationId],
  );
  return rows.map(({ id }) => id);
}
