"use client";
/** Reads of the providers page, and the connection test. */
import { useMutation, useQuery } from "@tanstack/react-query";
import type { UseMutationResult, UseQueryResult } from "@tanstack/react-query";
import { newIdempotencyKey, readConsole, writeConsole } from "@/components/query/console-fetch";
import { queryKeys } from "@/components/query/keys";
import { providerList, providerTestResult } from "@/lib/contracts/models";
import type { ProviderList, ProviderTestResult, ProviderView, UpsertProviderInput } from "@/lib/contracts/models";

export function useProviders(): UseQueryResult<ProviderList> {
  return useQuery({
    queryKey: queryKeys.providers,
    queryFn: ({ signal }) => readConsole("/api/console/providers", providerList, signal),
  });
}

export function useProviderTest(providerId: string): UseMutationResult<ProviderTestResult, Error, void> {
  return useMutation({
    mutationFn: () =>
      writeConsole(`/api/console/providers/${providerId}/test`, {
        method: "POST",
        body: {},
        schema: providerTestResult,
        idempotencyKey: newIdempotencyKey(),
      }),
  });
}

/** The account as it stands, in the shape that a change of it is written in. Its secret stays where it is. */
export function providerInputOf(provider: ProviderView): UpsertProviderInput {
  const { name, kind, baseUrl, isExternal, billingMode, disabled } = provider;
  return { name, kind, baseUrl, isExternal, billingMode, disabled };
}
