/**
 * Takes an import back. Prices that calls were booked at stay in the book, ended now, and what held before them holds again from
 * now on as rows of its own; prices that never came into force go. So history still says at what price each call was made.
 */
import { z } from "zod";
import { listAuditEntries } from "@/lib/db/audit-log";
import { listModelsById } from "@/lib/db/models";
import { findPriceImport, markImportUndone } from "@/lib/db/price-imports";
import {
  deleteComingPrices,
  deleteFxRatesOfImport,
  insertPrice,
  listModelIdsOfImport,
  listPricesOfModels,
  restorePriceEnd,
  updatePriceEnd,
} from "@/lib/db/prices";
import type { Price, PriceImport } from "@/lib/domain/entities";
import { AppError } from "@/lib/domain/fault";
import { newId } from "@/lib/domain/ids";
import type { Principal } from "@/lib/domain/role";
import { changeOrganisation, found } from "./change";
import type { Change } from "./change";
import type { ControlDeps } from "./deps";
import { groupedBy } from "./grouped";
import type { PriceImportResult } from "./price-imports";

/** Gateways' clocks may run ahead: a price that starts so soon may be in force with one of them. */
const SOON_MS = 60_000;

const storedEnds = z.object({ ends: z.array(z.object({ id: z.string(), at: z.iso.datetime().nullable() })) });

/** `conflict` when it was taken back before, when a model has a newer price by now, or when one of its prices is about to start. */
export async function undoPriceImport(
  deps: ControlDeps,
  principal: Principal,
  ref: { readonly organisationId: string; readonly importId: string },
): Promise<PriceImportResult> {
  const { organisationId, importId } = ref;
  return changeOrganisation(deps, principal, organisationId, async (change) => {
    await change.require("price.write");
    const before = found(await findPriceImport(change.tx, organisationId, importId));
    if (before.undoneAt !== null) throw new AppError("conflict", "This import was taken back before");
    if (before.book === "fx") {
      await deleteFxRatesOfImport(change.tx, organisationId, importId);
      change.touch("fx", organisationId);
    } else {
      await undoPrices(change, principal, before);
    }
    const priceImport = await markImportUndone(change.tx, importId, change.now);
    const action = before.book === "fx" ? "fx.import_undo" : "price.import_undo";
    const about = { action, objectType: "price_import", objectId: importId };
    return { priceImport, auditId: await change.audit({ ...about, before, after: priceImport }) };
  });
}

async function undoPrices(change: Change, principal: Principal, undone: PriceImport): Promise<void> {
  const { tx, organisation } = change;
  const modelIds = await listModelIdsOfImport(tx, organisation.id, undone.id);
  const prices = groupedBy(await listPricesOfModels(tx, organisation.id, modelIds), (price) => price.modelId);
  await requireNewest(change, undone.id, prices);
  const ends = await endsBefore(change, undone.id);
  for (const [modelId, rows] of prices) {
    await undoModel(change, principal, { undone, rows, ends });
    change.touch("model", modelId);
  }
}

async function requireNewest(
  change: Change,
  importId: string,
  prices: ReadonlyMap<string, readonly Price[]>,
): Promise<void> {
  const changed = [...prices].filter(([, rows]) => rows.at(-1)?.importId !== importId).map(([modelId]) => modelId);
  if (changed.length > 0) {
    const names = (await listModelsById(change.tx, change.organisation.id, changed)).map((model) => model.name);
    throw new AppError("conflict", `There are newer prices of ${names.sort().slice(0, 5).join(", ")}`);
  }
  const isAboutToStart = [...prices.values()].flat().some(({ importId: id, effectiveFrom }) => {
    const inMs = effectiveFrom.getTime() - change.nowMs;
    return id === importId && inMs > 0 && inMs <= SOON_MS;
  });
  if (isAboutToStart) throw new AppError("conflict", "A price of it starts within a minute: try again after that");
}

/** Where the spans of the rows before it ended, by price id. */
async function endsBefore(change: Change, importId: string): Promise<ReadonlyMap<string, Date | null>> {
  const filter = { objectType: "price_import", objectId: importId, take: 10 };
  const entries = await listAuditEntries(change.tx, change.organisation.id, filter);
  const stored = storedEnds.safeParse(entries.find((entry) => entry.action === "price.import")?.before);
  const ends = stored.success ? stored.data.ends : [];
  return new Map(ends.map(({ id, at }) => [id, at === null ? null : new Date(at)]));
}

interface Undoing {
  readonly undone: PriceImport;
  /** All of one model, earliest first; the last is the import's. */
  readonly rows: readonly Price[];
  readonly ends: ReadonlyMap<string, Date | null>;
}

async function undoModel(change: Change, principal: Principal, { undone, rows, ends }: Undoing): Promise<void> {
  const { tx, now } = change;
  const own = rows.filter((row) => row.importId === undone.id);
  const previous = rows.findLast((row) => row.importId !== undone.id);
  const began = own.filter((row) => row.effectiveFrom <= now);
  const inForce = began.findLast((row) => row.effectiveTo === null || row.effectiveTo > now);
  await deleteComingPrices(
    tx,
    own.map((row) => row.id),
    now,
  );
  if (inForce !== undefined) {
    // A span is never empty: what began at this very moment ends a millisecond later.
    const end = new Date(Math.max(change.nowMs, inForce.effectiveFrom.getTime() + 1));
    await updatePriceEnd(tx, inForce.id, end);
  }
  if (previous === undefined) return;
  const end = ends.has(previous.id) ? (ends.get(previous.id) ?? null) : previous.effectiveTo;
  if (began.length === 0) {
    await restorePriceEnd(tx, previous.id, end);
    return;
  }
  const effectiveFrom = new Date(Math.max(change.nowMs, (began.at(-1)?.effectiveFrom.getTime() ?? 0) + 1));
  if (end !== null && end <= effectiveFrom) return;
  await insertPrice(tx, {
    ...previous,
    ...{ id: newId("prc", change.nowMs), effectiveFrom, effectiveTo: end },
    createdById: principal.userId,
  });
}
