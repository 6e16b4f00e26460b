/** Price books and lists of exchange rates that are taken over as a whole: look, then apply what was looked at, or take it back. */
import { z } from "zod";
import { idText, organisationView, timeMs } from "./common";

export const PRICE_BOOK_FORMATS = ["price_map", "yaml", "csv"] as const;

/** Characters of a file; the public price map has a quarter of it. */
const MAX_TEXT = 8 * 1024 * 1024;
/** Bytes of a request that carries such a file as JSON text. */
export const MAX_IMPORT_BYTES = 2 * MAX_TEXT;

const text = z.string().min(1, "required").max(MAX_TEXT, "too_long");
const source = z.string().trim().min(1, "required").max(200, "too_long");
const digest = z.string().regex(/^[0-9a-f]{64}$/u, "digest_malformed");
const names = z.array(z.string().min(1).max(260)).max(5000);

const priceFile = {
  format: z.enum(PRICE_BOOK_FORMATS),
  text,
  /** Where the prices are from, for the rows that do not say so themselves. */
  source,
  /** For the price map, whose rows have no dates. Null: from the moment it is applied. */
  effectiveFromMs: timeMs.nullable().default(null),
  /** Only these models. Null: all that the file prices. */
  models: names.nullable().default(null),
};
export const previewPriceImportInput = z.strictObject(priceFile);
export type PreviewPriceImportInput = z.input<typeof previewPriceImportInput>;

/** `digest` of the preview, so that what is applied is what was seen; `confirmed` names each entry that asked for it. */
const agreed = { digest, confirmed: names.default([]) };
export const applyPriceImportInput = z.strictObject({ ...priceFile, ...agreed });
export type ApplyPriceImportInput = z.input<typeof applyPriceImportInput>;

export const priceImportPreview = z.object({
  digest,
  changes: z.array(
    z.object({
      model: z.string(),
      kind: z.enum(["added", "changed", "removed"]),
      /** Null: from the moment it is applied. */
      effectiveFromMs: timeMs.nullable(),
      effectiveToMs: timeMs.nullable(),
      currencyBefore: z.string().nullable(),
      currencyAfter: z.string().nullable(),
      rates: z.array(
        z.object({
          path: z.string(),
          before: z.string().nullable(),
          after: z.string().nullable(),
          factor: z.string().nullable(),
        }),
      ),
      warnings: z.array(
        z.object({
          path: z.string(),
          code: z.string(),
          text: z.string(),
          than: z.string().nullable(),
          needsConfirmation: z.boolean(),
        }),
      ),
      /** Whether the model must be named in `confirmed`: suspicious rates, or another currency than before. */
      needsConfirmation: z.boolean(),
    }),
  ),
  /** Rows of the file that say what is booked already. */
  unchanged: z.int(),
  /** Models of the organisation that the price map does not name: they keep what they have. */
  unmatched: z.array(z.string()),
});
export type PriceImportPreview = z.infer<typeof priceImportPreview>;

export const previewFxImportInput = z.strictObject({ text, source });
export type PreviewFxImportInput = z.input<typeof previewFxImportInput>;
export const applyFxImportInput = z.strictObject({ text, source, ...agreed });
export type ApplyFxImportInput = z.input<typeof applyFxImportInput>;

export const fxImportPreview = z.object({
  digest,
  changes: z.array(
    z.object({
      /** "USD/CNY 2026-12-01T00:00:00.000Z": how `confirmed` names it. */
      name: z.string(),
      base: z.string(),
      quote: z.string(),
      rate: z.string(),
      /** The rate that held before it. */
      before: z.string().nullable(),
      effectiveFromMs: timeMs,
      needsConfirmation: z.boolean(),
    }),
  ),
  unchanged: z.int(),
});
export type FxImportPreview = z.infer<typeof fxImportPreview>;

export const priceImportView = z.object({
  id: idText,
  book: z.enum(["prices", "fx"]),
  format: z.string(),
  source: z.string(),
  rowCount: z.int(),
  createdAtMs: timeMs,
  undoneAtMs: timeMs.nullable(),
});
export const priceImportList = z.object({ organisation: organisationView, imports: z.array(priceImportView) });
export type PriceImportList = z.infer<typeof priceImportList>;
export type PriceImportView = z.infer<typeof priceImportView>;
