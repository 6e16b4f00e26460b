/** Outbox of what gateways must see. Rows are dropped by `notePublished` once Redis holds them. */
import type { SnapshotEntity } from "@/lib/domain/entities";
import type { Tx } from "./client";

export interface SnapshotChange {
  readonly id: bigint;
  readonly entity: SnapshotEntity;
  readonly entityId: string;
}

export async function insertSnapshotChanges(
  tx: Tx,
  organisationId: string,
  changes: readonly Omit<SnapshotChange, "id">[],
): Promise<void> {
  await tx.snapshotChange.createMany({ data: changes.map((change) => ({ ...change, organisationId })) });
}

/** All pending rows of the organisation, oldest first. */
export async function listSnapshotChanges(tx: Tx, organisationId: string): Promise<SnapshotChange[]> {
  const rows = await tx.snapshotChange.findMany({
    where: { organisationId },
    select: { id: true, entity: true, entityId: true },
    orderBy: { id: "asc" },
  });
  return rows.map((row) => ({ ...row, entity: row.entity as SnapshotEntity }));
}
