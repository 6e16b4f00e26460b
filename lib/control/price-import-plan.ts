/**
 * What an import would do to the price book, worked out the same way for the preview and for its application. A file is taken
 * whole or not at all; rows that say what is booked already are passed over, so a file may be given again.
 */
import type { previewPriceImportInput } from "@/lib/contracts/price-imports";
import type { PriceImportPreview } from "@/lib/contracts/price-imports";
import type { Tx } from "@/lib/db/client";
import { listActiveDeployments, listModels } from "@/lib/db/models";
import { listPricesOfModels } from "@/lib/db/prices";
import { listProviders } from "@/lib/db/providers";
import type { Deployment, Model, Price } from "@/lib/domain/entities";
import type { PriceRates } from "@/lib/domain/snapshot";
import type { PriceBookProblem } from "@/lib/pricing/price-book";
import { diffPriceBooks } from "@/lib/pricing/price-book-diff";
import { findPriceKey } from "@/lib/pricing/price-key";
import { readPriceMap } from "@/lib/pricing/price-map";
import { groupedBy } from "./grouped";
import { brokenFile, sha256 } from "./import-text";
import { readCsvPriceBook, readYamlPriceBook } from "./price-book-text";

type Change = PriceImportPreview["changes"][number];

/** A row that will be added. */
export interface PlannedPrice {
  readonly modelId: string;
  readonly currency: string;
  readonly rates: PriceRates;
  readonly source: string;
  /** Null: from the moment of application. */
  readonly fromMs: number | null;
  readonly toMs: number | null;
  /** The row whose span it ends; null where there is none, or where that row is planned as well. */
  readonly ends: Price | null;
  readonly change: Change;
}

export interface PriceImportPlan {
  readonly planned: readonly PlannedPrice[];
  readonly textHash: string;
  readonly preview: PriceImportPreview;
}

interface Wanted {
  readonly model: Model;
  readonly currency: string;
  readonly rates: PriceRates;
  readonly source: string;
  readonly fromMs: number | null;
  readonly toMs: number | null;
}

type Input = ReturnType<typeof previewPriceImportInput.parse>;

/** Throws `invalid_request` naming every mistake. Changes nothing. */
export async function planPriceImport(
  tx: Tx,
  organisationId: string,
  input: Input,
  nowMs: number,
): Promise<PriceImportPlan> {
  const models = await listModels(tx, organisationId);
  const { wanted, unmatched } =
    input.format === "price_map" ? await fromMap(tx, organisationId, models, input) : fromBook(models, input);
  const chosen = input.models === null ? wanted : wanted.filter((row) => input.models?.includes(row.model.name));
  const ids = [...new Set(chosen.map((row) => row.model.id))];
  const booked = groupedBy(await listPricesOfModels(tx, organisationId, ids), (price) => price.modelId);
  const problems: PriceBookProblem[] = [];
  const planned = ids.flatMap((id) => {
    const rows = chosen.filter((row) => row.model.id === id).sort((a, b) => (a.fromMs ?? nowMs) - (b.fromMs ?? nowMs));
    return planModel(rows, booked.get(id) ?? [], nowMs, problems);
  });
  if (problems.length > 0) throw brokenFile(problems);
  const textHash = sha256(input.text);
  const rows = planned.map(({ change: _change, ends, ...row }) => [row, ends?.id ?? null]);
  return {
    planned,
    textHash,
    preview: {
      digest: sha256([input.format, textHash, input.source, rows]),
      changes: planned.map((row) => row.change),
      unchanged: chosen.length - planned.length,
      unmatched,
    },
  };
}

/** Rows of the public map for the models at hand, by the name under which a vendor serves them. */
async function fromMap(
  tx: Tx,
  organisationId: string,
  models: readonly Model[],
  input: Input,
): Promise<{ wanted: Wanted[]; unmatched: string[] }> {
  const reading = readPriceMap(input.text);
  if (!reading.ok) {
    throw brokenFile(
      reading.problems.map(({ key, field, message }) => ({ line: 0, path: [key, field].join("."), message })),
    );
  }
  const rows = new Map(reading.rows.map((row) => [row.key, row]));
  const kinds = new Map((await listProviders(tx, organisationId)).map((row) => [row.id, row.kind]));
  const ids = models.map((model) => model.id);
  const deployments = groupedBy(await listActiveDeployments(tx, organisationId, ids), (row) => row.modelId);
  const wanted: Wanted[] = [];
  const unmatched: string[] = [];
  for (const model of models) {
    const key = keyOf(model, deployments.get(model.id) ?? [], kinds, (name) => rows.has(name));
    const row = key === undefined ? undefined : rows.get(key);
    if (row === undefined) unmatched.push(model.name);
    else {
      const { currency, rates } = row;
      wanted.push({ model, currency, rates, source: input.source, fromMs: input.effectiveFromMs, toMs: null });
    }
  }
  return { wanted, unmatched };
}

function keyOf(
  model: Model,
  deployments: readonly Deployment[],
  kinds: ReadonlyMap<string, string>,
  has: (key: string) => boolean,
): string | undefined {
  for (const { providerId, upstreamModel } of deployments) {
    const provider = kinds.get(providerId);
    const found = findPriceKey(upstreamModel, has, provider === undefined ? {} : { provider });
    if (found !== undefined) return found;
  }
  return findPriceKey(model.name, has);
}

function fromBook(models: readonly Model[], input: Input): { wanted: Wanted[]; unmatched: string[] } {
  const reading = input.format === "yaml" ? readYamlPriceBook(input.text) : readCsvPriceBook(input.text);
  if (!reading.ok) throw brokenFile(reading.problems);
  const byName = new Map(models.map((model) => [model.name, model]));
  const missing = [...new Set(reading.rows.map((row) => row.model))].filter((name) => !byName.has(name));
  if (missing.length > 0) {
    throw brokenFile(missing.map((name) => ({ line: 0, path: name, message: "there is no model of this name" })));
  }
  const wanted = reading.rows.flatMap((row): Wanted[] => {
    const model = byName.get(row.model);
    const { currency, rates, effectiveFromMs: fromMs, effectiveToMs: toMs, source } = row;
    return model === undefined ? [] : [{ model, currency, rates, source: source ?? input.source, fromMs, toMs }];
  });
  return { wanted, unmatched: [] };
}

/** The last row of a model, booked or planned. */
interface Standing {
  readonly currency: string;
  readonly rates: PriceRates;
  readonly fromMs: number;
  readonly toMs: number | null;
  readonly price: Price | null;
}

function planModel(
  wanted: readonly Wanted[],
  booked: readonly Price[],
  nowMs: number,
  problems: PriceBookProblem[],
): PlannedPrice[] {
  const planned: PlannedPrice[] = [];
  let last = standingOf(booked.at(-1));
  for (const row of wanted) {
    const fromMs = row.fromMs ?? nowMs;
    const { name } = row.model;
    const same = booked.find((price) => price.effectiveFrom.getTime() === fromMs);
    if (same !== undefined && isSame(row, same)) continue;
    if (last !== null && last.toMs === null && row.toMs === null && fromMs >= last.fromMs && isSame(row, last))
      continue;
    const note = (message: string): void => void problems.push({ line: 0, path: name, message });
    if (last !== null && fromMs <= last.fromMs) {
      note("a price of this model starts at this time or later");
      continue;
    }
    // The first price may be old; a later one never reaches back into booked calls.
    if (last !== null && fromMs < nowMs) {
      note("a later price of a model may not start in the past");
      continue;
    }
    planned.push({
      ...{ modelId: row.model.id, currency: row.currency, rates: row.rates, source: row.source },
      ...{ fromMs: row.fromMs, toMs: row.toMs },
      ends: last !== null && (last.toMs === null || last.toMs > fromMs) ? last.price : null,
      change: changeOf(row, last),
    });
    last = { currency: row.currency, rates: row.rates, fromMs, toMs: row.toMs, price: null };
  }
  // What follows within the file ends the row before it, as it would end a booked one.
  return planned.map((row, index) => {
    const nextMs = planned[index + 1]?.fromMs ?? null;
    return nextMs !== null && (row.toMs === null || row.toMs > nextMs) ? { ...row, toMs: nextMs } : row;
  });
}

function standingOf(price: Price | undefined): Standing | null {
  if (price === undefined) return null;
  const { currency, rates, effectiveFrom, effectiveTo } = price;
  return { currency, rates, fromMs: effectiveFrom.getTime(), toMs: effectiveTo?.getTime() ?? null, price };
}

type Rated = Pick<Standing, "currency" | "rates">;

function isSame(one: Rated, other: Rated): boolean {
  return diffPriceBooks([{ model: "", ...rated(other) }], [{ model: "", ...rated(one) }]).length === 0;
}

function rated({ currency, rates }: Rated): Rated {
  return { currency, rates };
}

function changeOf(row: Wanted, last: Standing | null): Change {
  const model = row.model.name;
  const before = last === null ? [] : [{ model, ...rated(last) }];
  const [difference] = diffPriceBooks(before, [{ model, ...rated(row) }]);
  const span = { effectiveFromMs: row.fromMs, effectiveToMs: row.toMs };
  if (difference === undefined) {
    const { currency } = row;
    const same = {
      currencyBefore: currency,
      currencyAfter: currency,
      rates: [],
      warnings: [],
      needsConfirmation: false,
    };
    return { model, kind: "changed", ...span, ...same };
  }
  const isOtherMoney = last !== null && last.currency !== row.currency;
  return {
    ...difference,
    ...span,
    rates: [...difference.rates],
    warnings: [...difference.warnings],
    needsConfirmation: isOtherMoney || difference.warnings.some((warning) => warning.needsConfirmation),
  };
}
