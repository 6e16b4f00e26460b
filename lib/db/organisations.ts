/** Organisations and the epoch that orders what gateways must see of them. */
import type { Organisation } from "@/lib/domain/entities";
import { LOCKS } from "./advisory-lock";
import type { Tx } from "./client";
import type { Prisma } from "./generated/client";

const select = {
  id: true,
  name: true,
  currency: true,
  timeZone: true,
  fiscalYearStartMonth: true,
  weekStartsOn: true,
  locale: true,
  budgetRefusalStatus: true,
  isSample: true,
  snapshotEpoch: true,
  publishedEpoch: true,
  createdAt: true,
} satisfies Prisma.OrganisationSelect;

export async function findOrganisation(tx: Tx, id: string): Promise<Organisation | null> {
  return tx.organisation.findUnique({ where: { id }, select });
}

/** All, by id. */
export async function listOrganisations(tx: Tx): Promise<Organisation[]> {
  return tx.organisation.findMany({ select, orderBy: { id: "asc" } });
}

export async function countOrganisations(tx: Tx): Promise<number> {
  return tx.organisation.count();
}

/** Founders of a first organisation take turns until the transaction ends: there is no row yet that they could lock. */
export async function lockFounding(tx: Tx): Promise<void> {
  await tx.$executeRaw`SELECT pg_advisory_xact_lock(${LOCKS.founding}::int, 0)`;
}

/**
 * Locks the organisation's row until the transaction ends: writers of one organisation queue here, so that their epochs
 * are committed in the order in which they were raised. False when there is no such organisation.
 */
export async function lockOrganisation(tx: Tx, id: string): Promise<boolean> {
  const rows = await tx.$queryRaw<unknown[]>`SELECT 1 FROM organisations WHERE id = ${id} FOR UPDATE`;
  return rows.length === 1;
}

export type NewOrganisation = Omit<Organisation, "snapshotEpoch" | "publishedEpoch" | "createdAt">;

export async function insertOrganisation(tx: Tx, row: NewOrganisation): Promise<Organisation> {
  return tx.organisation.create({ data: row, select });
}

export async function updateOrganisation(
  tx: Tx,
  id: string,
  changes: Partial<Pick<Organisation, "name" | "locale" | "budgetRefusalStatus">>,
): Promise<Organisation> {
  return tx.organisation.update({ where: { id }, data: changes, select });
}

/** Raises the epoch by one, or to `atLeast` when that is more; returns the new one. The row is locked by this. */
export async function raiseEpoch(tx: Tx, id: string, atLeast = 0n): Promise<bigint> {
  const rows = await tx.$queryRaw<{ epoch: bigint }[]>`
    UPDATE organisations SET snapshot_epoch = GREATEST(snapshot_epoch + 1, ${atLeast}) WHERE id = ${id}
    RETURNING snapshot_epoch AS epoch`;
  return rows[0]?.epoch ?? 0n;
}

/** Notes in one statement that Redis holds everything up to `epoch`, and drops the outbox rows that said so. */
export async function notePublished(
  tx: Tx,
  organisationId: string,
  epoch: bigint,
  changeIds: readonly bigint[],
): Promise<void> {
  await tx.$executeRaw`
    WITH dropped AS (DELETE FROM snapshot_changes WHERE organisation_id = ${organisationId} AND id = ANY(${[...changeIds]}::bigint[]))
    UPDATE organisations SET published_epoch = ${epoch}
    WHERE id = ${organisationId} AND published_epoch < ${epoch}`;
}
