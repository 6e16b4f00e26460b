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
