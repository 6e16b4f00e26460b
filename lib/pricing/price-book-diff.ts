/** What a new price book changes, before anybody applies it. */
import type { PriceRates } from "@/lib/domain/price-rates";
import { decimalText, divideHalfEven, scaleRate } from "./decimal";
import type { PriceWarning } from "./price-lint";
import { lintPrice } from "./price-lint";
import { rateTexts } from "./rate-texts";

/** A price as both books name it: the row in force, or the row to come. */
export interface BookedPrice {
  readonly model: string;
  readonly currency: string;
  readonly rates: PriceRates;
}

export interface RateChange {
  readonly path: string;
  /** Null: the row did not, or does not any more, name this price. */
  readonly before: string | null;
  readonly after: string | null;
  /** After divided by before, to four decimals; null where one is missing, before is zero, or the currency changed. */
  readonly factor: string | null;
}

export interface PriceChange {
  readonly model: string;
  readonly kind: "added" | "changed" | "removed";
  readonly currencyBefore: string | null;
  readonly currencyAfter: string | null;
  readonly rates: readonly RateChange[];
  /** Of the new row against the old; prices in another currency are not compared. */
  readonly warnings: readonly PriceWarning[];
}

const FACTOR_DIGITS = 4;

/** Changes by model name; models that stay as they are do not appear. One row a model on each side. */
export function diffPriceBooks(before: readonly BookedPrice[], after: readonly BookedPrice[]): PriceChange[] {
  const old = new Map(before.map((price) => [price.model, price]));
  const fresh = new Map(after.map((price) => [price.model, price]));
  const models = [...new Set([...old.keys(), ...fresh.keys()])].sort();
  return models.flatMap((model) => {
    const change = changeOf(model, old.get(model), fresh.get(model));
    return change.currencyBefore === change.currencyAfter && change.rates.length === 0 ? [] : [change];
  });
}

function changeOf(model: string, before: BookedPrice | undefined, after: BookedPrice | undefined): PriceChange {
  const isComparable = before !== undefined && before.currency === after?.currency;
  return {
    model,
    kind: before === undefined ? "added" : after === undefined ? "removed" : "changed",
    currencyBefore: before?.currency ?? null,
    currencyAfter: after?.currency ?? null,
    rates: rateChanges(before?.rates, after?.rates, isComparable),
    warnings: after === undefined ? [] : lintPrice(after.rates, isComparable ? before.rates : undefined),
  };
}

function rateChanges(
  before: PriceRates | undefined,
  after: PriceRates | undefined,
  isComparable: boolean,
): RateChange[] {
  const old = statements(before);
  const fresh = statements(after);
  return [...new Set([...old.keys(), ...fresh.keys()])].flatMap((path) => {
    const was = old.get(path) ?? null;
    const is = fresh.get(path) ?? null;
    if (was === is) return [];
    return [{ path, before: was, after: is, factor: isComparable ? factorOf(was, is) : null }];
  });
}

/** All that a row says: its rates in normal form ("0.10" is "0.1"), and whatever else it holds as JSON. */
function statements(rates: PriceRates | undefined): Map<string, string> {
  if (rates === undefined) return new Map();
  const said = new Map(rateTexts(rates).map((one) => [one.path, normal(one.text)]));
  const { windows, longContext } = rates;
  (windows ?? []).forEach(({ rates: _, ...hours }, index) =>
    said.set(`windows[${index}].hours`, JSON.stringify(hours)),
  );
  if (longContext?.mode === "graduated") said.set("longContext.mode", longContext.mode);
  if (longContext?.isInclusive === true) said.set("longContext.isInclusive", "true");
  if (rates.reasoningPricesOutput === true) said.set("reasoningPricesOutput", "true");
  return said;
}

function normal(text: string): string {
  const [whole = "", fraction = ""] = text.split(".");
  const short = fraction.replace(/0+$/u, "");
  const head = whole.replace(/^0+(?=\d)/u, "");
  return short === "" ? head : `${head}.${short}`;
}

const DECIMAL = /^\d+(?:\.\d+)?$/u;

function factorOf(before: string | null, after: string | null): string | null {
  if (before === null || after === null || !DECIMAL.test(before) || !DECIMAL.test(after)) return null;
  const divisor = scaleRate(before);
  if (divisor === 0n) return null;
  return decimalText(divideHalfEven(scaleRate(after) * 10n ** BigInt(FACTOR_DIGITS), divisor), FACTOR_DIGITS);
}
