/**
 * The price book. Rows are dated and never changed: a new price ends the span of the last one. People type prices with a
 * slipped decimal point, so a suspicious one must be confirmed.
 */
import { addFxRateInput, addPriceInput } from "@/lib/contracts/models";
import type { AddFxRateInput, AddPriceInput } from "@/lib/contracts/models";
import { orConflict } from "@/lib/db/errors";
import { findModel } from "@/lib/db/models";
import { insertFxRate, insertPrice, listPricesOfModels, updatePriceEnd } from "@/lib/db/prices";
import type { FxRate, Price } from "@/lib/domain/entities";
import { AppError } from "@/lib/domain/fault";
import { newId } from "@/lib/domain/ids";
import type { Principal } from "@/lib/domain/role";
import type { PriceRates } from "@/lib/domain/snapshot";
import { shiftDecimal } from "@/lib/pricing/decimal";
import { isSuspicious } from "@/lib/pricing/price-lint";
import { changeOrganisation, found } from "./change";
import type { ControlDeps } from "./deps";
import { invalidFields, parseInput } from "./validate";

/**
 * Adds a price of a model from a moment on. `invalid_request` with field `confirmSuspicious` when a rate is above 10,000
 * per million or more than 100 times the last one and it was not confirmed; `conflict` when a row starts later.
 */
export async function addPrice(
  deps: ControlDeps,
  principal: Principal,
  input: AddPriceInput & { readonly organisationId: string },
): Promise<{ readonly price: Price; readonly auditId: string }> {
  const { organisationId, ...rest } = input;
  const values = parseInput(addPriceInput, rest);
  const rates = values.rates ?? perToken(values.perMillion, values.perRequest);
  return changeOrganisation(deps, principal, organisationId, async (change) => {
    await change.require("price.write");
    found(await findModel(change.tx, organisationId, values.modelId));
    const last = (await listPricesOfModels(change.tx, organisationId, [values.modelId])).at(-1);
    const fromMs = values.effectiveFromMs ?? change.nowMs;
    if (last !== undefined && fromMs <= last.effectiveFrom.getTime()) {
      throw new AppError("conflict", "A price of this model starts at this time or later");
    }
    // The first price may be old (history is imported with it); a later one never reaches back into booked calls.
    if (last !== undefined && fromMs < change.nowMs) throw invalidFields({ effectiveFromMs: "in_the_past" });
    if (!values.confirmSuspicious && isSuspicious(rates, last?.currency === values.currency ? last.rates : undefined)) {
      throw invalidFields({ confirmSuspicious: "price_suspicious" });
    }
    const effectiveFrom = new Date(fromMs);
    if (last !== undefined && (last.effectiveTo === null || last.effectiveTo > effectiveFrom)) {
      await updatePriceEnd(change.tx, last.id, effectiveFrom);
    }
    const { modelId, currency, source } = values;
    const row = { id: newId("prc", change.nowMs), organisationId, modelId, currency, rates, source, effectiveFrom };
    const end = { effectiveTo: null, importId: null };
    const price = await insertPrice(change.tx, { ...row, ...end, createdById: principal.userId });
    change.touch("model", modelId);
    const about = { action: "price.add", objectType: "price", objectId: price.id };
    const auditId = await change.audit({ ...about, before: last, after: price });
    return { price, auditId };
  });
}

/** Adds an exchange rate from a moment on. `conflict` when the pair has a rate from this very moment. */
export async function addFxRate(
  deps: ControlDeps,
  principal: Principal,
  input: AddFxRateInput & { readonly organisationId: string },
): Promise<{ readonly fxRate: FxRate; readonly auditId: string }> {
  const { organisationId, ...rest } = input;
  const { effectiveFromMs, ...values } = parseInput(addFxRateInput, rest);
  if (values.base === values.quote) throw invalidFields({ quote: "same_currency" });
  return changeOrganisation(deps, principal, organisationId, async (change) => {
    await change.require("price.write");
    const effectiveFrom = new Date(effectiveFromMs ?? change.nowMs);
    const row = { ...values, id: newId("fx", change.nowMs), organisationId, effectiveFrom, importId: null };
    const write = insertFxRate(change.tx, { ...row, createdById: principal.userId });
    const fxRate = await orConflict(write, "A rate of this pair starts at this moment", "effectiveFromMs");
    change.touch("fx", organisationId);
    const auditId = await change.audit({
      action: "fx.add",
      objectType: "fx_rate",
      objectId: fxRate.id,
      after: fxRate,
    });
    return { fxRate, auditId };
  });
}

type PerMillion = ReturnType<typeof addPriceInput.parse>["perMillion"];

function perToken(perMillion: PerMillion, perRequest: string | undefined): PriceRates {
  if (perMillion === undefined) return {};
  const optional = (name: keyof PriceRates, text: string | undefined): Partial<PriceRates> =>
    text === undefined ? {} : { [name]: shiftDecimal(text, -6) };
  return {
    inputPerToken: shiftDecimal(perMillion.input, -6),
    ...optional("outputPerToken", perMillion.output),
    ...optional("cacheReadPerToken", perMillion.cacheRead),
    ...optional("cacheWritePerToken", perMillion.cacheWrite),
    ...optional("reasoningPerToken", perMillion.reasoning),
    ...(perRequest === undefined ? {} : { perRequest }),
  };
}
