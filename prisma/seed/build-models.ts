/** The models of every real vendor whose key is at hand. */
import type { ControlDeps } from "@/lib/control/deps";
import { upsertDeployment, upsertModel } from "@/lib/control/models";
import { addFxRate, addPrice } from "@/lib/control/prices";
import { upsertProvider } from "@/lib/control/providers";
import { readPriceBook } from "@/lib/pricing/price-book";
import type { PriceBookRow } from "@/lib/pricing/price-book";
import { seedPrincipal } from "./build-company";
import type { Vendor, VendorModel } from "./vendors";
import { VENDOR_FX, VENDORS } from "./vendors";

/** Makes a provider for each vendor named by the environment; returns their names. */
export async function addVendors(
  deps: ControlDeps,
  organisationId: string,
  env: Readonly<Record<string, string | undefined>>,
  pricedFromMs: number,
): Promise<string[]> {
  const named = VENDORS.filter(({ variable }) => (env[variable] ?? "") !== "");
  if (named.some((vendor) => vendor.currency === VENDOR_FX.base)) {
    await addFxRate(deps, seedPrincipal, { ...VENDOR_FX, organisationId, effectiveFromMs: pricedFromMs });
  }
  for (const vendor of named) {
    const givenUrl = vendor.baseUrlVariable === undefined ? undefined : env[vendor.baseUrlVariable];
    const { provider } = await upsertProvider(deps, seedPrincipal, {
      organisationId,
      name: vendor.name,
      kind: vendor.kind,
      baseUrl: givenUrl === undefined || givenUrl === "" ? vendor.baseUrl : givenUrl,
      secret: env[vendor.variable] ?? "",
      isExternal: true,
      billingMode: "day",
    });
    const prices = pricesOf(vendor, pricedFromMs);
    for (const model of vendor.models) {
      await addModel(deps, { organisationId, providerId: provider.id, vendor, model, price: prices.get(model.name) });
    }
  }
  return named.map((vendor) => vendor.name);
}

/** The vendor's prices as a price book has them, by model. Throws where one is malformed: the list is ours. */
export function pricesOf(vendor: Vendor, pricedFromMs: number): ReadonlyMap<string, PriceBookRow> {
  const effectiveFrom = new Date(pricedFromMs).toISOString();
  const reading = readPriceBook(
    vendor.models.map(({ name: model, rates }) => ({
      value: { model, currency: vendor.currency, unit: "million_tokens", effectiveFrom, rates },
      path: model,
      lineOf: () => 0,
    })),
  );
  if (!reading.ok) throw new Error(`prices of ${vendor.name}: ${JSON.stringify(reading.problems)}`);
  return new Map(reading.rows.map((row) => [row.model, row]));
}

interface Added {
  readonly organisationId: string;
  readonly providerId: string;
  readonly vendor: Vendor;
  readonly model: VendorModel;
  readonly price: PriceBookRow | undefined;
}

async function addModel(deps: ControlDeps, added: Added): Promise<void> {
  const { organisationId, providerId, vendor, price } = added;
  const { name, kind, maxOutputTokens, contextTokens } = added.model;
  const limits = { maxOutputTokens, contextTokens };
  const draft = { organisationId, name, kind, ...limits, isExternal: true };
  const { model } = await upsertModel(deps, seedPrincipal, draft);
  const ref = { organisationId, modelId: model.id };
  const region = vendor.region ?? null;
  await upsertDeployment(deps, seedPrincipal, { ...ref, providerId, upstreamModel: name, region });
  if (price === undefined) throw new Error(`${name} has no price`);
  await addPrice(deps, seedPrincipal, {
    ...ref,
    currency: price.currency,
    rates: price.rates,
    source: "vendor list price, November 2026",
    effectiveFromMs: price.effectiveFromMs,
  });
}
