/** The tree organisation > department > team > app (> user). */
import type { Consumer } from "@/lib/domain/entities";
import type { Tx } from "./client";
import type { Prisma } from "./generated/client";

const select = {
  id: true,
  organisationId: true,
  parentId: true,
  kind: true,
  name: true,
  costCentre: true,
  ownerUserId: true,
  policyId: true,
  frozenAt: true,
  archivedAt: true,
} satisfies Prisma.ConsumerSelect;

export async function findConsumer(tx: Tx, organisationId: string, id: string): Promise<Consumer | null> {
  return tx.consumer.findFirst({ where: { id, organisationId }, select });
}

/** All nodes of the organisation, archived ones included, oldest first. */
export async function listConsumers(tx: Tx, organisationId: string): Promise<Consumer[]> {
  return tx.consumer.findMany({ where: { organisationId }, select, orderBy: [{ createdAt: "asc" }, { id: "asc" }] });
}

export async function listConsumersById(tx: Tx, organisationId: string, ids: readonly string[]): Promise<Consumer[]> {
  return tx.consumer.findMany({ where: { organisationId, id: { in: [...ids] } }, select });
}

/** Ids from the root down to the node itself; empty when the node is not of this organisation. */
export async function findConsumerPath(tx: Tx, organisationId: string, id: string): Promise<string[]> {
  const rows = await tx.$queryRaw<{ id: string }[]>`
    WITH RECURSIVE chain AS (
      SELECT id, parent_id, 0 AS height FROM consumers WHERE id = ${id} AND organisation_id = ${organisationId}
      UNION ALL
      SELECT parent.id, parent.parent_id, chain.height + 1
      FROM consumers parent JOIN chain ON parent.id = chain.parent_id
      WHERE chain.height < 16
    )
    SELECT id FROM chain ORDER BY height DESC`;
  return rows.map((row) => row.id);
}

export async function insertConsumer(
  tx: Tx,
  row: Omit<Consumer, "frozenAt" | "archivedAt" | "policyId">,
): Promise<Consumer> {
  return tx.consumer.create({ data: row, select });
}

export async function updateConsumer(
  tx: Tx,
  id: string,
  changes: Partial<Pick<Consumer, "name" | "costCentre" | "ownerUserId" | "policyId" | "frozenAt" | "archivedAt">>,
): Promise<Consumer> {
  return tx.consumer.update({ where: { id }, data: changes, select });
}
