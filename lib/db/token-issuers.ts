/** Trusted identity providers of callers. The sealed client secret leaves this file through `listIssuerBoxes` only. */
import type { TokenIssuer } from "@/lib/domain/entities";
import { tokenIssuerDocument } from "@/lib/domain/snapshot";
import type { Tx } from "./client";
import type { Prisma } from "./generated/client";

const select = {
  id: true,
  organisationId: true,
  name: true,
  document: true,
  secretChangedAt: true,
  disabledAt: true,
} satisfies Prisma.TokenIssuerSelect;
type Row = Prisma.TokenIssuerGetPayload<{ select: typeof select }>;

const definition = tokenIssuerDocument.omit({ id: true, organisationId: true, secretBox: true });

function fromRow({ document, ...row }: Row): TokenIssuer {
  return { ...row, definition: definition.parse(document) };
}

/** A new client secret, sealed. */
export interface IssuerSecret {
  readonly secretCiphertext: Uint8Array<ArrayBuffer>;
  readonly secretChangedAt: Date;
}

export async function findTokenIssuer(tx: Tx, organisationId: string, id: string): Promise<TokenIssuer | null> {
  const row = await tx.tokenIssuer.findFirst({ where: { id, organisationId }, select });
  return row === null ? null : fromRow(row);
}

export async function findTokenIssuerByName(tx: Tx, organisationId: string, name: string): Promise<TokenIssuer | null> {
  const row = await tx.tokenIssuer.findUnique({ where: { organisationId_name: { organisationId, name } }, select });
  return row === null ? null : fromRow(row);
}

export async function listTokenIssuers(tx: Tx, organisationId: string): Promise<TokenIssuer[]> {
  const rows = await tx.tokenIssuer.findMany({ where: { organisationId }, select, orderBy: { name: "asc" } });
  return rows.map(fromRow);
}

/** Sealed client secrets in base64 by issuer id, for the snapshot; issuers without one are absent. */
export async function listIssuerBoxes(tx: Tx, organisationId: string): Promise<Map<string, string>> {
  const rows = await tx.tokenIssuer.findMany({
    where: { organisationId, secretCiphertext: { not: null } },
    select: { id: true, secretCiphertext: true },
  });
  return new Map(rows.map((row) => [row.id, Buffer.from(row.secretCiphertext ?? []).toString("base64")]));
}

/** Inserts the issuer, or rewrites the one of this id. A null secret leaves the stored one. */
export async function saveTokenIssuer(
  tx: Tx,
  row: Omit<TokenIssuer, "secretChangedAt">,
  secret: IssuerSecret | null,
): Promise<TokenIssuer> {
  const { id, organisationId, name, definition: document, disabledAt } = row;
  const { issuer, tokenPrefix = null } = document;
  const values = { name, issuer, tokenPrefix, document: { ...document }, disabledAt, ...secret };
  const saved = await tx.tokenIssuer.upsert({
    where: { id },
    create: { ...values, id, organisationId },
    update: values,
    select,
  });
  return fromRow(saved);
}

export async function deleteTokenIssuer(tx: Tx, organisationId: string, id: string): Promise<void> {
  await tx.tokenIssuer.deleteMany({ where: { id, organisationId } });
}
