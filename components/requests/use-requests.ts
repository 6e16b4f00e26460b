"use client";
/** The request log: one query with its filters from the address, pages appended below. */
import { useInfiniteQuery } from "@tanstack/react-query";
import type { InfiniteData, UseInfiniteQueryResult } from "@tanstack/react-query";
import { readConsole } from "@/components/query/console-fetch";
import { queryKeys } from "@/components/query/keys";
import { requestList } from "@/lib/contracts/requests";
import type { RequestList, RequestListQuery } from "@/lib/contracts/requests";

const POLL_MS = 5_000;

/** Refreshed by itself only while the first page alone is shown: rows must not move under a reader. */
export function useRequests(query: RequestListQuery): UseInfiniteQueryResult<InfiniteData<RequestList>> {
  return useInfiniteQuery({
    queryKey: queryKeys.requests(query),
    initialPageParam: "",
    queryFn: ({ pageParam, signal }) => {
      const filters = Object.entries({ ...query, after: pageParam }).filter(([, value]) => value !== "");
      return readConsole(`/api/console/requests?${new URLSearchParams(filters).toString()}`, requestList, signal);
    },
    getNextPageParam: (last) => last.next,
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) <= 1 ? POLL_MS : false),
  });
}
