/** Price books and lists of exchange rates that were taken over as a whole. */
import type { PriceImport } from "@/lib/domain/entities";
import type { Tx } from "./client";
import type { Prisma } from "./generated/client";

const select = {
  id: true,
  organisationId: true,
  book: true,
  format: true,
  source: true,
  textHash: true,
  rowCount: true,
  undoneAt: true,
  createdAt: true,
} satisfies Prisma.PriceImportSelect;
type Row = Prisma.PriceImportGetPayload<{ select: typeof select }>;

function fromRow(row: Row): PriceImport {
  return { ...row, book: row.book === "fx" ? "fx" : "prices" };
}

export async function findPriceImport(tx: Tx, organisationId: string, id: string): Promise<PriceImport | null> {
  const row = await tx.priceImport.findFirst({ where: { id, organisationId }, select });
  return row === null ? null : fromRow(row);
}

/** Newest first. */
export async function listPriceImports(tx: Tx, organisationId: string, take: number): Promise<PriceImport[]> {
  const order = [{ createdAt: "desc" as const }, { id: "desc" as const }];
  const rows = await tx.priceImport.findMany({ where: { organisationId }, select, orderBy: order, take });
  return rows.map(fromRow);
}

export async function insertPriceImport(
  tx: Tx,
  row: Omit<PriceImport, "undoneAt"> & { readonly createdById: string | null },
): Promise<PriceImport> {
  return fromRow(await tx.priceImport.create({ data: row, select }));
}

export async function markImportUndone(tx: Tx, id: string, undoneAt: Date): Promise<PriceImport> {
  return fromRow(await tx.priceImport.update({ where: { id }, data: { undoneAt }, select }));
}
