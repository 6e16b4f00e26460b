"use client";
/** Looking at a file, and applying what was looked at. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { UseMutationResult } from "@tanstack/react-query";
import { newIdempotencyKey, writeConsole } from "@/components/query/console-fetch";
import { queryKeys } from "@/components/query/keys";
import { writeResult } from "@/lib/contracts/common";
import type { WriteResult } from "@/lib/contracts/common";
import { fxImportPreview, priceImportPreview } from "@/lib/contracts/price-imports";
import type { FxImportPreview, PriceImportPreview } from "@/lib/contracts/price-imports";
import { requestOf } from "./import-draft";
import type { ImportDraft } from "./import-draft";

/** The preview and the file that it is of: what is applied is exactly this. */
export type Preview =
  | { readonly kind: "prices"; readonly draft: ImportDraft; readonly preview: PriceImportPreview }
  | { readonly kind: "fx"; readonly draft: ImportDraft; readonly preview: FxImportPreview };

export function usePreview(): UseMutationResult<Preview, Error, ImportDraft> {
  return useMutation({
    mutationFn: async (draft: ImportDraft): Promise<Preview> => {
      const { path, body } = requestOf(draft);
      const write = { method: "POST" as const, body, idempotencyKey: newIdempotencyKey() };
      return draft.format === "fx"
        ? { kind: "fx", draft, preview: await writeConsole(`${path}/preview`, { ...write, schema: fxImportPreview }) }
        : {
            kind: "prices",
            draft,
            preview: await writeConsole(`${path}/preview`, { ...write, schema: priceImportPreview }),
          };
    },
  });
}

export function useApply(): UseMutationResult<
  WriteResult,
  Error,
  { readonly seen: Preview; readonly confirmed: readonly string[]; readonly idempotencyKey: string }
> {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ seen, confirmed, idempotencyKey }) => {
      const { path, body } = requestOf(seen.draft);
      return writeConsole(path, {
        method: "POST",
        body: { ...body, digest: seen.preview.digest, confirmed },
        schema: writeResult,
        idempotencyKey,
      });
    },
    onSettled: () => client.invalidateQueries({ queryKey: queryKeys.allPrices }),
  });
}
