/** The price book and the exchange rates as of a moment. Rates are decimal texts of currency units for one unit of the thing named. */
import { z } from "zod";
import { priceRatesSchema } from "@/lib/domain/price-rates";
import { idText, organisationView, timeMs } from "./common";
import { modelView } from "./models";

/** Empty: now. Else a date of the organisation's zone, at the end of which the book is read. */
export const priceBookQuery = z.object({ at: z.union([z.literal(""), z.iso.date()]).default("") });
export type PriceBookQuery = z.infer<typeof priceBookQuery>;

export const priceView = z.object({
  id: idText,
  currency: z.string(),
  rates: priceRatesSchema,
  source: z.string(),
  importId: idText.nullable(),
  effectiveFromMs: timeMs,
  effectiveToMs: timeMs.nullable(),
});
export type PriceView = z.infer<typeof priceView>;

export const pricedModel = modelView.extend({
  /** In force at the moment; null: calls of the model would be refused, or take the policy's fallback price. */
  price: priceView.nullable(),
  /** The first row after the moment. */
  next: priceView.nullable(),
  /** False where a price in another currency has no rate into the organisation's at the moment. */
  isConvertible: z.boolean(),
});
export type PricedModel = z.infer<typeof pricedModel>;

export const fxRateView = z.object({
  id: idText,
  base: z.string(),
  quote: z.string(),
  /** 1 base is `rate` quote. */
  rate: z.string(),
  source: z.string(),
  effectiveFromMs: timeMs,
});

export const priceBook = z.object({
  organisation: organisationView,
  readAtMs: timeMs,
  atMs: timeMs,
  models: z.array(pricedModel),
  /** The rate of each pair that holds at the moment. */
  fx: z.array(fxRateView),
  canWriteModels: z.boolean(),
  canWritePrices: z.boolean(),
});
export type PriceBook = z.infer<typeof priceBook>;

/** Every price that a model had or will have, newest first. */
export const priceHistory = z.object({ prices: z.array(priceView) });
export type PriceHistory = z.infer<typeof priceHistory>;
