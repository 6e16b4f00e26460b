/** Takes over a price book: look at what it changes, then apply exactly that. Every row names the import that brought it. */
import { applyPriceImportInput, previewPriceImportInput } from "@/lib/contracts/price-imports";
import type { ApplyPriceImportInput, PreviewPriceImportInput, PriceImportPreview } from "@/lib/contracts/price-imports";
import { insertPriceImport } from "@/lib/db/price-imports";
import { insertPrices, updatePriceEnd } from "@/lib/db/prices";
import type { PriceImport } from "@/lib/domain/entities";
import { AppError } from "@/lib/domain/fault";
import { newId } from "@/lib/domain/ids";
import { may, organisationScope } from "@/lib/domain/role";
import type { Principal } from "@/lib/domain/role";
import { changeOrganisation, notFound } from "./change";
import type { Change } from "./change";
import type { ControlDeps } from "./deps";
import { requireConfirmed } from "./import-text";
import type { PlannedPrice } from "./price-import-plan";
import { planPriceImport } from "./price-import-plan";
import { parseInput } from "./validate";

export interface PriceImportResult {
  readonly priceImport: PriceImport;
  readonly auditId: string;
}

/** What the file would change. `invalid_request` names every mistake in it. */
export async function previewPriceImport(
  deps: ControlDeps,
  principal: Principal,
  input: PreviewPriceImportInput & { readonly organisationId: string },
): Promise<PriceImportPreview> {
  const { organisationId, ...rest } = input;
  if (!may(principal, "price.write", organisationScope(organisationId))) throw notFound();
  const values = parseInput(previewPriceImportInput, rest);
  return (await planPriceImport(deps.db.prisma, organisationId, values, deps.clock.nowMs())).preview;
}

/**
 * Applies the file in one change. `conflict` when the book is another one than the preview saw, or when nothing is left to
 * change; `invalid_request` with fields `confirmed:<model>` for suspicious prices that were not confirmed.
 */
export async function applyPriceImport(
  deps: ControlDeps,
  principal: Principal,
  input: ApplyPriceImportInput & { readonly organisationId: string },
): Promise<PriceImportResult> {
  const { organisationId, ...rest } = input;
  const { digest, confirmed, ...values } = parseInput(applyPriceImportInput, rest);
  return changeOrganisation(deps, principal, organisationId, async (change) => {
    await change.require("price.write");
    const plan = await planPriceImport(change.tx, organisationId, values, change.nowMs);
    if (plan.preview.digest !== digest) throw new AppError("conflict", "The prices are not those that were looked at");
    if (plan.planned.length === 0) throw new AppError("conflict", "The file changes nothing");
    const suspicious = plan.planned.filter((row) => row.change.needsConfirmation).map((row) => row.change.model);
    requireConfirmed([...new Set(suspicious)], confirmed);
    const priceImport = await insertPriceImport(change.tx, {
      ...{ id: newId("pim", change.nowMs), organisationId, book: "prices", format: values.format },
      ...{ source: values.source, textHash: plan.textHash, rowCount: plan.planned.length },
      ...{ createdAt: change.now, createdById: principal.userId },
    });
    await addPlanned(change, principal, priceImport.id, plan.planned);
    for (const { modelId } of plan.planned) change.touch("model", modelId);
    const auditId = await change.audit({
      ...{ action: "price.import", objectType: "price_import", objectId: priceImport.id },
      // Where the spans ended before, which an undo gives back.
      before: {
        ends: plan.planned.flatMap(({ ends }) => (ends === null ? [] : { id: ends.id, at: ends.effectiveTo })),
      },
      after: { ...priceImport, changes: plan.preview.changes },
    });
    return { priceImport, auditId };
  });
}

async function addPlanned(
  change: Change,
  principal: Principal,
  importId: string,
  planned: readonly PlannedPrice[],
): Promise<void> {
  const startOf = (row: PlannedPrice): Date => new Date(row.fromMs ?? change.nowMs);
  for (const row of planned) if (row.ends !== null) await updatePriceEnd(change.tx, row.ends.id, startOf(row));
  await insertPrices(
    change.tx,
    planned.map((row) => ({
      ...{ id: newId("prc", change.nowMs), organisationId: change.organisation.id, modelId: row.modelId, importId },
      ...{ currency: row.currency, rates: row.rates, source: row.source, createdById: principal.userId },
      effectiveFrom: startOf(row),
      effectiveTo: row.toMs === null ? null : new Date(row.toMs),
    })),
  );
}
