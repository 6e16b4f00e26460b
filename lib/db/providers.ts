/** Accounts at model vendors. The sealed secret leaves this file through `listProviderBoxes` only. */
import type { Provider } from "@/lib/domain/entities";
import type { Tx } from "./client";
import type { Prisma } from "./generated/client";

const select = {
  id: true,
  organisationId: true,
  kind: true,
  name: true,
  baseUrl: true,
  secretChangedAt: true,
  secretHint: true,
  isExternal: true,
  billingMode: true,
  disabledAt: true,
} satisfies Prisma.ProviderSelect;

/** A new secret: the sealed box and what may be shown of it. */
export interface ProviderSecret {
  readonly secretCiphertext: Uint8Array<ArrayBuffer>;
  readonly secretHint: string;
  readonly secretChangedAt: Date;
}

export async function findProvider(tx: Tx, organisationId: string, id: string): Promise<Provider | null> {
  return tx.provider.findFirst({ where: { id, organisationId }, select });
}

export async function findProviderByName(tx: Tx, organisationId: string, name: string): Promise<Provider | null> {
  return tx.provider.findUnique({ where: { organisationId_name: { organisationId, name } }, select });
}

export async function listProviders(tx: Tx, organisationId: string): Promise<Provider[]> {
  return tx.provider.findMany({ where: { organisationId }, select, orderBy: { name: "asc" } });
}

/** Sealed secrets in base64 by provider id, for the snapshot; providers without a secret are absent. */
export async function listProviderBoxes(tx: Tx, organisationId: string): Promise<Map<string, string>> {
  const rows = await tx.provider.findMany({
    where: { organisationId, secretCiphertext: { not: null } },
    select: { id: true, secretCiphertext: true },
  });
  return new Map(rows.map((row) => [row.id, Buffer.from(row.secretCiphertext ?? []).toString("base64")]));
}

export async function insertProvider(
  tx: Tx,
  row: Omit<Provider, "secretChangedAt" | "secretHint" | "disabledAt">,
  secret: ProviderSecret | null,
): Promise<Provider> {
  return tx.provider.create({ data: { ...row, ...secret }, select });
}

export async function updateProvider(
  tx: Tx,
  id: string,
  changes: Partial<Pick<Provider, "name" | "baseUrl" | "isExternal" | "billingMode" | "disabledAt">>,
  secret: ProviderSecret | null,
): Promise<Provider> {
  return tx.provider.update({ where: { id }, data: { ...changes, ...secret }, select });
}
