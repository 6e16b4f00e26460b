import { MAX_IMPORT_BYTES, previewPriceImportInput, priceImportPreview } from "@/lib/contracts/price-imports";
import { runPriceImportPreview } from "@/lib/console/price-imports";
import { writeRoute } from "@/lib/console/route";

export const POST = writeRoute(
  { action: "price.write", input: previewPriceImportInput, answer: priceImportPreview, maxBytes: MAX_IMPORT_BYTES },
  runPriceImportPreview,
);
