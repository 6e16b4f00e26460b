"use client";
/** Reads of the prices page. */
import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { UseMutationResult, UseQueryResult } from "@tanstack/react-query";
import { readConsole, writeConsole } from "@/components/query/console-fetch";
import { queryKeys } from "@/components/query/keys";
import { writeResult } from "@/lib/contracts/common";
import type { WriteResult } from "@/lib/contracts/common";
import { priceImportList } from "@/lib/contracts/price-imports";
import type { PriceImportList } from "@/lib/contracts/price-imports";
import { priceBook, priceHistory } from "@/lib/contracts/prices";
import type { PriceBook, PriceHistory } from "@/lib/contracts/prices";

/** `at`: a date, or empty for now. */
export function usePriceBook(at: string): UseQueryResult<PriceBook> {
  return useQuery({
    queryKey: queryKeys.priceBook(at),
    queryFn: ({ signal }) =>
      readConsole(`/api/console/prices?${new URLSearchParams({ at }).toString()}`, priceBook, signal),
    placeholderData: keepPreviousData,
  });
}

export function usePriceHistory(modelId: string): UseQueryResult<PriceHistory> {
  return useQuery({
    queryKey: queryKeys.priceHistory(modelId),
    queryFn: ({ signal }) => readConsole(`/api/console/models/${modelId}/prices`, priceHistory, signal),
  });
}

export function usePriceImports(): UseQueryResult<PriceImportList> {
  return useQuery({
    queryKey: queryKeys.priceImports,
    queryFn: ({ signal }) => readConsole("/api/console/price-imports", priceImportList, signal),
  });
}

/** Takes an import back. An import is taken back once, so its own id names the write. */
export function useImportUndo(): UseMutationResult<WriteResult, Error, string> {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (importId: string) =>
      writeConsole(`/api/console/price-imports/${importId}/undo`, {
        method: "POST",
        body: {},
        schema: writeResult,
        idempotencyKey: `undo-${importId}`,
      }),
    onSettled: () => client.invalidateQueries({ queryKey: queryKeys.allPrices }),
  });
}
