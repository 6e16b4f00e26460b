/** The price book and the exchange rates: effective-dated rows, never changed but for the end of a price's span. */
import type { FxRate, Price } from "@/lib/domain/entities";
import { priceRatesSchema } from "@/lib/domain/snapshot";
import type { Tx } from "./client";
import type { Prisma } from "./generated/client";

const select = {
  id: true,
  organisationId: true,
  modelId: true,
  currency: true,
  rates: true,
  source: true,
  importId: true,
  effectiveFrom: true,
  effectiveTo: true,
} satisfies Prisma.PriceSelect;
type PriceRow = Prisma.PriceGetPayload<{ select: typeof select }>;
const fxSelect = {
  id: true,
  organisationId: true,
  base: true,
  quote: true,
  rate: true,
  source: true,
  importId: true,
  effectiveFrom: true,
} satisfies Prisma.FxRateSelect;

function fromRow(row: PriceRow): Price {
  return { ...row, rates: priceRatesSchema.parse(row.rates) };
}

/** Prices of these models, earliest first. */
export async function listPricesOfModels(
  tx: Tx,
  organisationId: string,
  modelIds: readonly string[],
): Promise<Price[]> {
  const rows = await tx.price.findMany({
    where: { organisationId, modelId: { in: [...modelIds] } },
    select,
    orderBy: { effectiveFrom: "asc" },
  });
  return rows.map(fromRow);
}

export async function insertPrice(tx: Tx, row: Price & { readonly createdById: string | null }): Promise<Price> {
  return fromRow(await tx.price.create({ data: { ...row, rates: { ...row.rates } }, select }));
}

/** Ends a price's span; its rates never change, since ledger rows name it. */
export async function updatePriceEnd(tx: Tx, id: string, effectiveTo: Date): Promise<void> {
  await tx.price.update({ where: { id }, data: { effectiveTo }, select: { id: true } });
}

/** All rates of the organisation, earliest first. */
export async function listFxRates(tx: Tx, organisationId: string): Promise<FxRate[]> {
  return tx.fxRate.findMany({ where: { organisationId }, select: fxSelect, orderBy: { effectiveFrom: "asc" } });
}

export async function insertFxRate(tx: Tx, row: FxRate & { readonly createdById: string | null }): Promise<FxRate> {
  return tx.fxRate.create({ data: row, select: fxSelect });
}

export async function insertPrices(
  tx: Tx,
  rows: readonly (Price & { readonly createdById: string | null })[],
): Promise<void> {
  await tx.price.createMany({ data: rows.map((row) => ({ ...row, rates: { ...row.rates } })) });
}

/** Ids of the models that an import priced. */
export async function listModelIdsOfImport(tx: Tx, organisationId: string, importId: string): Promise<string[]> {
  const where = { organisationId, importId };
  const rows = await tx.price.findMany({ where, select: { modelId: true }, distinct: ["modelId"] });
  return rows.map((row) => row.modelId);
}

/** Moves the end of a price's span out again, or away: for a change that is taken back. */
export async function restorePriceEnd(tx: Tx, id: string, effectiveTo: Date | null): Promise<void> {
  await tx.price.update({ where: { id }, data: { effectiveTo }, select: { id: true } });
}

/** Deletes rows that never came into force; any other is named by the ledger. */
export async function deleteComingPrices(tx: Tx, ids: readonly string[], after: Date): Promise<number> {
  const gone = await tx.price.deleteMany({ where: { id: { in: [...ids] }, effectiveFrom: { gt: after } } });
  return gone.count;
}

export async function insertFxRates(
  tx: Tx,
  rows: readonly (FxRate & { readonly createdById: string | null })[],
): Promise<void> {
  await tx.fxRate.createMany({ data: [...rows] });
}

/** Ledger rows keep the rate itself, so nothing points at these. */
export async function deleteFxRatesOfImport(tx: Tx, organisationId: string, importId: string): Promise<number> {
  const gone = await tx.fxRate.deleteMany({ where: { organisationId, importId } });
  return gone.count;
}
