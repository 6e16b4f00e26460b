import { writeResult } from "@/lib/contracts/common";
import { applyFxImportInput, MAX_IMPORT_BYTES } from "@/lib/contracts/price-imports";
import { writeFxImport } from "@/lib/console/price-imports";
import { writeRoute } from "@/lib/console/route";

export const POST = writeRoute(
  { action: "price.write", input: applyFxImportInput, answer: writeResult, maxBytes: MAX_IMPORT_BYTES },
  writeFxImport,
);
