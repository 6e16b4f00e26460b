"use client";
/** Reads of a rollout: what was done with it, and what a version would have done. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { UseQueryResult } from "@tanstack/react-query";
import { readConsole } from "@/components/query/console-fetch";
import { queryKeys } from "@/components/query/keys";
import { policyReplay, rolloutHistory } from "@/lib/contracts/policies";
import type { PolicyReplay, RolloutHistory } from "@/lib/contracts/policies";

export function useRolloutHistory(policyId: string): UseQueryResult<RolloutHistory> {
  return useQuery({
    queryKey: queryKeys.rolloutHistory(policyId),
    queryFn: ({ signal }) => readConsole(`/api/console/policies/${policyId}/rollout`, rolloutHistory, signal),
  });
}

export function usePolicyReplay(policyId: string, versionId: string): UseQueryResult<PolicyReplay> {
  return useQuery({
    queryKey: queryKeys.policyReplay(policyId, versionId),
    queryFn: ({ signal }) =>
      readConsole(`/api/console/policies/${policyId}/replay?version=${versionId}`, policyReplay, signal),
    placeholderData: keepPreviousData,
  });
}
