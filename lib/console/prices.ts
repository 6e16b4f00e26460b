/** The price book as the console shows it, and prices that are typed by hand. */
import "server-only";
import type { WriteResult } from "@/lib/contracts/common";
import type { AddPriceInput } from "@/lib/contracts/models";
import type { PriceBook, PriceBookQuery, PriceHistory, PriceView } from "@/lib/contracts/prices";
import { groupedBy } from "@/lib/control/grouped";
import { addPrice } from "@/lib/control/prices";
import type { OrganisationRow } from "@/lib/db/console-consumers";
import { findModel, listModels } from "@/lib/db/models";
import { listFxRates, listPricesOfModels } from "@/lib/db/prices";
import type { FxRate, Price } from "@/lib/domain/entities";
import { AppError } from "@/lib/domain/fault";
import { periodFromId } from "@/lib/domain/period";
import { controlFor } from "./control";
import { isPermitted } from "./principal";
import type { ConsolePrincipal } from "./principal";
import { toModelView } from "./providers";
import type { WriteCall } from "./route";
import { services } from "./services";
import { toOrganisationView } from "./snapshot";

function toPriceView({ id, currency, rates, source, importId, effectiveFrom, effectiveTo }: Price): PriceView {
  return {
    ...{ id, currency, rates, source, importId },
    effectiveFromMs: effectiveFrom.getTime(),
    effectiveToMs: effectiveTo?.getTime() ?? null,
  };
}

/** The last instant of the day, so that a price that begins on it is in the book of that date. */
function momentOf({ at }: PriceBookQuery, organisation: OrganisationRow, nowMs: number): number {
  return at === "" ? nowMs : periodFromId(`D${at}`, organisation).endMs - 1;
}

/** The rate of each pair that began last before the moment. */
function ratesAt(rates: readonly FxRate[], at: Date): readonly FxRate[] {
  const newest = new Map<string, FxRate>();
  for (const rate of rates) if (rate.effectiveFrom <= at) newest.set(`${rate.base}/${rate.quote}`, rate);
  return [...newest.values()].sort((a, b) => (`${a.base}${a.quote}` < `${b.base}${b.quote}` ? -1 : 1));
}

export async function readPriceBook(who: ConsolePrincipal, query: PriceBookQuery): Promise<PriceBook> {
  const { db, clock } = services();
  const { organisation } = who;
  const readAtMs = clock.nowMs();
  const atMs = momentOf(query, organisation, readAtMs);
  const at = new Date(atMs);
  const models = await listModels(db.prisma, organisation.id);
  const ids = models.map((model) => model.id);
  const [prices, rates] = await Promise.all([
    listPricesOfModels(db.prisma, organisation.id, ids),
    listFxRates(db.prisma, organisation.id),
  ]);
  const fx = ratesAt(rates, at);
  const byModel = groupedBy(prices, (price) => price.modelId);
  return {
    organisation: toOrganisationView(organisation),
    readAtMs,
    atMs,
    models: models.map((model) => {
      const rows = byModel.get(model.id) ?? [];
      const price = rows.findLast(
        (row) => row.effectiveFrom <= at && (row.effectiveTo === null || row.effectiveTo > at),
      );
      const next = rows.find((row) => row.effectiveFrom > at);
      return {
        ...toModelView(model),
        price: price === undefined ? null : toPriceView(price),
        next: next === undefined ? null : toPriceView(next),
        isConvertible:
          price === undefined ||
          price.currency === organisation.currency ||
          fx.some((rate) => rate.base === price.currency && rate.quote === organisation.currency),
      };
    }),
    fx: fx.map(({ id, base, quote, rate, source, effectiveFrom }) => ({
      ...{ id, base, quote, rate, source },
      effectiveFromMs: effectiveFrom.getTime(),
    })),
    canWriteModels: isPermitted(who, "model.write", [organisation.id]),
    canWritePrices: isPermitted(who, "price.write", [organisation.id]),
  };
}

/** Throws `not_found` for a model of another organisation. */
export async function readPriceHistory(who: ConsolePrincipal, modelId: string): Promise<PriceHistory> {
  const { prisma } = services().db;
  const { id: organisationId } = who.organisation;
  if ((await findModel(prisma, organisationId, modelId)) === null) throw new AppError("not_found", "Not found");
  const prices = await listPricesOfModels(prisma, organisationId, [modelId]);
  return { prices: prices.toReversed().map(toPriceView) };
}

export async function writePrice(call: WriteCall<Record<string, never>, AddPriceInput>): Promise<WriteResult> {
  const { principal, organisation } = call.who;
  const input = { ...call.input, organisationId: organisation.id };
  const { price, auditId } = await addPrice(controlFor("price.add", call), principal, input);
  return { id: price.id, auditId, undoable: false };
}
