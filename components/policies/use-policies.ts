"use client";
/** Reads of the policy pages, and which documents stand in a policy. */
import { useQuery } from "@tanstack/react-query";
import type { UseQueryResult } from "@tanstack/react-query";
import { readConsole } from "@/components/query/console-fetch";
import { queryKeys } from "@/components/query/keys";
import { policyList } from "@/lib/contracts/policies";
import type { PolicyList, PolicyVersionView, PolicyView } from "@/lib/contracts/policies";

export function usePolicies(): UseQueryResult<PolicyList> {
  return useQuery({
    queryKey: queryKeys.policies,
    queryFn: ({ signal }) => readConsole("/api/console/policies", policyList, signal),
  });
}

/** The version in force; undefined where nothing was published. */
export function activeVersionOf(policy: PolicyView): PolicyVersionView | undefined {
  return policy.versions.find((version) => version.id === policy.activeVersionId);
}
