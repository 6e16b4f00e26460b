"use client";
/** Reads and writes of the webhooks page. */
import { keepPreviousData, useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import type { InfiniteData, UseInfiniteQueryResult, UseMutationResult } from "@tanstack/react-query";
import { newIdempotencyKey, readConsole, writeConsole } from "@/components/query/console-fetch";
import { queryKeys } from "@/components/query/keys";
import { webhookList, webhookSecretResult } from "@/lib/contracts/webhooks";
import type { WebhookList, WebhookListQuery, WebhookSecretResult } from "@/lib/contracts/webhooks";

const POLL_MS = 5_000;

export function useWebhooks(state: WebhookListQuery["state"]): UseInfiniteQueryResult<InfiniteData<WebhookList>> {
  return useInfiniteQuery({
    queryKey: queryKeys.webhooks(state),
    initialPageParam: "",
    queryFn: ({ pageParam, signal }) => {
      const parameters = new URLSearchParams({ state, after: pageParam });
      return readConsole(`/api/console/webhooks?${parameters.toString()}`, webhookList, signal);
    },
    getNextPageParam: (last) => last.next,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state: { data } }) => ((data?.pages.length ?? 0) <= 1 ? POLL_MS : false),
  });
}

/** `gcTime` 0: the secret must not linger in the cache once its dialog is closed. */
export function useWebhookSecret(): UseMutationResult<WebhookSecretResult, Error, number> {
  const client = useQueryClient();
  return useMutation({
    gcTime: 0,
    mutationFn: (graceSeconds: number) =>
      writeConsole("/api/console/webhook-secret", {
        method: "POST",
        body: { graceSeconds },
        schema: webhookSecretResult,
        idempotencyKey: newIdempotencyKey(),
      }),
    onSettled: () => client.invalidateQueries({ queryKey: queryKeys.allWebhooks }),
  });
}
