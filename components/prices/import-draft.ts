/** The import form's state. Pure. */
import type { PreviewFxImportInput, PreviewPriceImportInput, PRICE_BOOK_FORMATS } from "@/lib/contracts/price-imports";

/** Characters of a file; what is longer is not sent at all. */
export const MAX_CHARACTERS = 8 * 1024 * 1024;

export type ImportFormat = (typeof PRICE_BOOK_FORMATS)[number] | "fx";
export const IMPORT_FORMATS = ["price_map", "yaml", "csv", "fx"] as const satisfies readonly ImportFormat[];

export interface ImportDraft {
  readonly format: ImportFormat;
  readonly text: string;
  readonly source: string;
}

/** By the ending of a file's name; undefined where it says nothing. A CSV may be prices or rates, so the choice stands. */
export function formatOfFile(name: string, chosen: ImportFormat): ImportFormat | undefined {
  if (/\.json$/iu.test(name)) return "price_map";
  if (/\.ya?ml$/iu.test(name)) return "yaml";
  if (/\.csv$/iu.test(name)) return chosen === "fx" ? "fx" : "csv";
  return undefined;
}

export type ImportBody = PreviewPriceImportInput | PreviewFxImportInput;

/** Where the file goes, and what is sent of it. */
export function requestOf({ format, text, source }: ImportDraft): { readonly path: string; readonly body: ImportBody } {
  return format === "fx"
    ? { path: "/api/console/fx-imports", body: { text, source } }
    : { path: "/api/console/price-imports", body: { format, text, source } };
}
