/** What the console needs to know of an organisation and its tree. Reads only. */
import type { ConsumerKind } from "@/lib/domain/snapshot";
import type { SqlClient } from "./pool";

export interface OrganisationRow {
  readonly id: string;
  readonly name: string;
  readonly currency: string;
  readonly timeZone: string;
  readonly fiscalYearStartMonth: number;
  readonly weekStartsOn: 1 | 7;
  readonly isSample: boolean;
}

export interface ConsumerRow {
  readonly id: string;
  readonly parentId: string | null;
  readonly kind: ConsumerKind;
  readonly name: string;
  readonly costCentre: string | null;
  readonly policyId: string | null;
  readonly frozen: boolean;
  readonly archived: boolean;
}

/** The organisations with these ids, by name. */
export async function listOrganisations(sql: SqlClient, ids: readonly string[]): Promise<OrganisationRow[]> {
  const { rows } = await sql.query<OrganisationRow>(
    `SELECT id, name, currency, time_zone AS "timeZone", fiscal_year_start_month AS "fiscalYearStartMonth",
            week_starts_on AS "weekStartsOn", is_sample AS "isSample"
       FROM organisations WHERE id = ANY($1) ORDER BY name, id`,
    [ids],
  );
  return rows;
}

/** Every node of the tree, archived ones too (their spending still counts), by name. Users below apps are left out. */
export async function listConsumers(sql: SqlClient, organisationId: string): Promise<ConsumerRow[]> {
  const { rows } = await sql.query<ConsumerRow>(
    `SELECT id, parent_id AS "parentId", kind, name, cost_centre AS "costCentre", policy_id AS "policyId",
            frozen_at IS NOT NULL AS frozen, archived_at IS NOT NULL AS archived
       FROM consumers WHERE organisation_id = $1 AND kind <> 'user' ORDER BY name, id`,
    [organisationId],
  );
  return rows;
}

/** Names of models that callers may use, for filters and pickers. */
export async function listModelNames(sql: SqlClient, organisationId: string): Promise<string[]> {
  const { rows } = await sql.query<{ name: string }>(
    `SELECT name FROM models WHERE organisation_id = $1 AND disabled_at IS NULL ORDER BY name LIMIT 500`,
    [organisationId],
  );
  return rows.map((row) => row.name);
}

/** Active policy documents as stored; the caller parses them. */
export async function listActivePolicyDocuments(
  sql: SqlClient,
  organisationId: string,
): Promise<{ policyId: string; document: unknown }[]> {
  const { rows } = await sql.query<{ policyId: string; document: unknown }>(
    `SELECT p.id AS "policyId", v.document
       FROM policies p JOIN policy_versions v ON v.id = p.active_version_id
      WHERE p.organisation_id = $1`,
    [organisationId],
  );
  return rows;
}
