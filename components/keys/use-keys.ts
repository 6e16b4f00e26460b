"use client";
/** Reads and writes of the keys page. */
import { keepPreviousData, useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import type { InfiniteData, UseInfiniteQueryResult, UseMutationResult } from "@tanstack/react-query";
import { newIdempotencyKey, readConsole, writeConsole } from "@/components/query/console-fetch";
import { queryKeys } from "@/components/query/keys";
import { writeResult } from "@/lib/contracts/common";
import type { WriteResult } from "@/lib/contracts/common";
import { apiKeyList, apiKeySecretResult } from "@/lib/contracts/keys";
import type { ApiKeyList, ApiKeyListQuery, ApiKeySecretResult, CreateApiKeyInput } from "@/lib/contracts/keys";

const POLL_MS = 10_000;

export type ApiKeyFilter = Omit<ApiKeyListQuery, "after">;

/** Pages appended below. Refreshed by itself only while the first page alone is shown: rows must not move under a reader. */
export function useApiKeys(filter: ApiKeyFilter): UseInfiniteQueryResult<InfiniteData<ApiKeyList>> {
  return useInfiniteQuery({
    queryKey: queryKeys.apiKeys(filter),
    initialPageParam: "",
    queryFn: ({ pageParam, signal }) => {
      const after = pageParam === "" ? {} : { after: pageParam };
      const parameters = new URLSearchParams({ q: filter.q, state: filter.state, ...after });
      return readConsole(`/api/console/keys?${parameters.toString()}`, apiKeyList, signal);
    },
    getNextPageParam: (last) => last.next,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) <= 1 ? POLL_MS : false),
  });
}

type SecretWrite =
  | { readonly kind: "create"; readonly input: CreateApiKeyInput }
  | { readonly kind: "rotate"; readonly keyId: string; readonly graceSeconds: number };

/** Creates or rotates. `gcTime` 0: the secret must not linger in the cache once its dialog is closed. */
export function useSecretWrite(): UseMutationResult<ApiKeySecretResult, Error, SecretWrite> {
  const client = useQueryClient();
  return useMutation({
    gcTime: 0,
    mutationFn: (write: SecretWrite) => {
      const path = write.kind === "create" ? "/api/console/keys" : `/api/console/keys/${write.keyId}/rotate`;
      const body = write.kind === "create" ? write.input : { graceSeconds: write.graceSeconds };
      return writeConsole(path, {
        method: "POST",
        body,
        schema: apiKeySecretResult,
        idempotencyKey: newIdempotencyKey(),
      });
    },
    onSettled: () => client.invalidateQueries({ queryKey: queryKeys.allApiKeys }),
  });
}

export function useRevoke(): UseMutationResult<
  WriteResult,
  Error,
  { readonly keyId: string; readonly confirmName: string }
> {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ keyId, confirmName }) =>
      writeConsole(`/api/console/keys/${keyId}`, {
        method: "DELETE",
        body: { confirmName },
        schema: writeResult,
        idempotencyKey: newIdempotencyKey(),
      }),
    onSettled: () => client.invalidateQueries({ queryKey: queryKeys.allApiKeys }),
  });
}
