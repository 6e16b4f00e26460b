/** Imports of price books and exchange rates from the console. */
import "server-only";
import type { WriteResult } from "@/lib/contracts/common";
import type {
  ApplyFxImportInput,
  ApplyPriceImportInput,
  FxImportPreview,
  PreviewFxImportInput,
  PreviewPriceImportInput,
  PriceImportPreview,
  PriceImportList,
} from "@/lib/contracts/price-imports";
import { applyFxImport, previewFxImport } from "@/lib/control/fx-imports";
import { undoPriceImport } from "@/lib/control/price-import-undo";
import { applyPriceImport, previewPriceImport } from "@/lib/control/price-imports";
import type { PriceImportResult } from "@/lib/control/price-imports";
import { listPriceImports } from "@/lib/db/price-imports";
import { getControl } from "@/lib/wiring/control";
import { controlFor } from "./control";
import type { ConsolePrincipal } from "./principal";
import type { WriteCall } from "./route";
import { services } from "./services";
import { toOrganisationView } from "./snapshot";
import type { WithId } from "./writes";

type NoParams = Record<string, never>;
const SHOWN = 100;

function toWriteResult({ priceImport, auditId }: PriceImportResult): WriteResult {
  // Taken back by its own route: the general undo knows budgets only.
  return { id: priceImport.id, auditId, undoable: false };
}

export async function readPriceImports(who: ConsolePrincipal): Promise<PriceImportList> {
  const rows = await listPriceImports(services().db.prisma, who.organisation.id, SHOWN);
  return {
    organisation: toOrganisationView(who.organisation),
    imports: rows.map(({ id, book, format, source, rowCount, createdAt, undoneAt }) => ({
      ...{ id, book, format, source, rowCount },
      createdAtMs: createdAt.getTime(),
      undoneAtMs: undoneAt?.getTime() ?? null,
    })),
  };
}

/** Previews change nothing, so their Idempotency-Key is not kept. */
export async function runPriceImportPreview(
  call: WriteCall<NoParams, PreviewPriceImportInput>,
): Promise<PriceImportPreview> {
  const { principal, organisation } = call.who;
  return previewPriceImport(getControl(), principal, { ...call.input, organisationId: organisation.id });
}

export async function writePriceImport(call: WriteCall<NoParams, ApplyPriceImportInput>): Promise<WriteResult> {
  const { principal, organisation } = call.who;
  const input = { ...call.input, organisationId: organisation.id };
  return toWriteResult(await applyPriceImport(controlFor("price.import", call), principal, input));
}

export async function runFxImportPreview(call: WriteCall<NoParams, PreviewFxImportInput>): Promise<FxImportPreview> {
  const { principal, organisation } = call.who;
  return previewFxImport(getControl(), principal, { ...call.input, organisationId: organisation.id });
}

export async function writeFxImport(call: WriteCall<NoParams, ApplyFxImportInput>): Promise<WriteResult> {
  const { principal, organisation } = call.who;
  const input = { ...call.input, organisationId: organisation.id };
  return toWriteResult(await applyFxImport(controlFor("fx.import", call), principal, input));
}

export async function writeImportUndo(call: WriteCall<WithId, unknown>): Promise<WriteResult> {
  const { principal, organisation } = call.who;
  const ref = { organisationId: organisation.id, importId: call.params.id };
  return toWriteResult(await undoPriceImport(controlFor("price.import_undo", call), principal, ref));
}
