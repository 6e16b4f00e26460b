/** Answers of writes by their Idempotency-Key, kept in the transaction of the write itself. */
import type { Tx } from "./client";
import type { Prisma } from "./generated/client";

export interface IdempotencyKey {
  readonly organisationId: string;
  readonly actorId: string;
  readonly key: string;
}

export interface IdempotencyRecord {
  readonly bodyHash: string;
  /** The answer, sealed: it may hold a secret that is shown once. Base64. */
  readonly box: string;
}

const select = { bodyHash: true, response: true } satisfies Prisma.IdempotencyRecordSelect;

export async function findIdempotencyRecord(tx: Tx, key: IdempotencyKey): Promise<IdempotencyRecord | null> {
  const row = await tx.idempotencyRecord.findUnique({ where: { organisationId_actorId_key: key }, select });
  return typeof row?.response === "string" ? { bodyHash: row.bodyHash, box: row.response } : null;
}

export async function insertIdempotencyRecord(
  tx: Tx,
  key: IdempotencyKey,
  record: IdempotencyRecord,
  createdAt: Date,
): Promise<void> {
  await tx.idempotencyRecord.create({
    data: { ...key, bodyHash: record.bodyHash, response: record.box, createdAt },
    select: { key: true },
  });
}

/** Drops records made before `before`; returns how many. */
export async function deleteOldIdempotencyRecords(tx: Tx, before: Date): Promise<number> {
  const gone = await tx.idempotencyRecord.deleteMany({ where: { createdAt: { lt: before } } });
  return gone.count;
}
