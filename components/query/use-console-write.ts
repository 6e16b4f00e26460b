"use client";
/** One write of a page that has several: where to, and what is read again afterwards. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { QueryKey, UseMutationResult } from "@tanstack/react-query";
import { writeResult } from "@/lib/contracts/common";
import type { WriteResult } from "@/lib/contracts/common";
import { newIdempotencyKey, writeConsole } from "./console-fetch";
import type { WriteOptions } from "./console-fetch";

export interface ConsoleWrite extends Pick<WriteOptions<typeof writeResult>, "method" | "body"> {
  readonly path: string;
}

/** A failed write says so only through its error: forms keep what was typed. */
export function useConsoleWrite(...stale: readonly QueryKey[]): UseMutationResult<WriteResult, Error, ConsoleWrite> {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ path, method, body }: ConsoleWrite) =>
      writeConsole(path, { method, body, schema: writeResult, idempotencyKey: newIdempotencyKey() }),
    onSettled: () => Promise.all(stale.map((queryKey) => client.invalidateQueries({ queryKey }))),
  });
}
