import { writeResult } from "@/lib/contracts/common";
import { applyPriceImportInput, MAX_IMPORT_BYTES, priceImportList } from "@/lib/contracts/price-imports";
import { readPriceImports, writePriceImport } from "@/lib/console/price-imports";
import { noQuery, readRoute, writeRoute } from "@/lib/console/route";

export const GET = readRoute({ action: "price.read", query: noQuery, answer: priceImportList }, ({ who }) =>
  readPriceImports(who),
);

export const POST = writeRoute(
  { action: "price.write", input: applyPriceImportInput, answer: writeResult, maxBytes: MAX_IMPORT_BYTES },
  writePriceImport,
);
