/** The audit log: one row a change, written in the transaction of the change and never touched again. */
import type { AuditEntry } from "@/lib/domain/entities";
import type { Tx } from "./client";
import { Prisma } from "./generated/client";

const select = {
  id: true,
  organisationId: true,
  actorId: true,
  actorLabel: true,
  action: true,
  objectType: true,
  objectId: true,
  before: true,
  after: true,
  requestId: true,
  effectiveAt: true,
  createdAt: true,
} satisfies Prisma.AuditLogSelect;

export async function insertAuditEntry(tx: Tx, row: AuditEntry): Promise<void> {
  await tx.auditLog.create({
    data: { ...row, before: toJson(row.before), after: toJson(row.after) },
    select: { id: true },
  });
}

export async function findAuditEntry(tx: Tx, organisationId: string, id: string): Promise<AuditEntry | null> {
  return tx.auditLog.findFirst({ where: { id, organisationId }, select });
}

/** Newest first; of one object when given. */
export async function listAuditEntries(
  tx: Tx,
  organisationId: string,
  filter: { readonly objectType?: string; readonly objectId?: string; readonly before?: Date; readonly take: number },
): Promise<AuditEntry[]> {
  return tx.auditLog.findMany({
    where: {
      organisationId,
      ...(filter.objectType === undefined ? {} : { objectType: filter.objectType }),
      ...(filter.objectId === undefined ? {} : { objectId: filter.objectId }),
      ...(filter.before === undefined ? {} : { createdAt: { lt: filter.before } }),
    },
    select,
    orderBy: [{ createdAt: "desc" }, { id: "desc" }],
    take: filter.take,
  });
}

/** JSON has no bigint: amounts are written as decimal text, dates as ISO text. */
function toJson(value: unknown): Prisma.InputJsonValue | typeof Prisma.DbNull {
  if (value === null || value === undefined) return Prisma.DbNull;
  const text = JSON.stringify(value, (_key, part: unknown) => (typeof part === "bigint" ? part.toString() : part));
  return JSON.parse(text) as Prisma.InputJsonValue;
}
