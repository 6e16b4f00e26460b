"use client";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { useState } from "react";
import type { ReactElement, ReactNode } from "react";
import { ConsoleRequestError } from "./console-fetch";

const MAX_RETRIES = 2;

function makeClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 1_000,
        // An answer of the server stands; only what may pass by itself is asked again.
        retry: (failures, error) =>
          failures < MAX_RETRIES &&
          !(error instanceof ConsoleRequestError && error.status >= 400 && error.status < 500),
      },
      mutations: { retry: false },
    },
  });
}

export function QueryProvider({ children }: { readonly children: ReactNode }): ReactElement {
  const [client] = useState(makeClient);
  return <QueryClientProvider client={client}>{children}</QueryClientProvider>;
}
