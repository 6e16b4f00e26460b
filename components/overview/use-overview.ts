"use client";
import { useQuery } from "@tanstack/react-query";
import type { UseQueryResult } from "@tanstack/react-query";
import { readConsole } from "@/components/query/console-fetch";
import { queryKeys } from "@/components/query/keys";
import { overview } from "@/lib/contracts/overview";
import type { Overview } from "@/lib/contracts/overview";

const POLL_MS = 2_000;

/** Asked again every two seconds while the page is in view. */
export function useOverview(): UseQueryResult<Overview> {
  return useQuery({
    queryKey: queryKeys.overview,
    queryFn: ({ signal }) => readConsole("/api/console/overview", overview, signal),
    refetchInterval: POLL_MS,
  });
}
