import { fxImportPreview, MAX_IMPORT_BYTES, previewFxImportInput } from "@/lib/contracts/price-imports";
import { runFxImportPreview } from "@/lib/console/price-imports";
import { writeRoute } from "@/lib/console/route";

export const POST = writeRoute(
  { action: "price.write", input: previewFxImportInput, answer: fxImportPreview, maxBytes: MAX_IMPORT_BYTES },
  runFxImportPreview,
);
