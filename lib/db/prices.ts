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
