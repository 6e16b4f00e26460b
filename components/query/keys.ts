/** Query keys, in one place, so that what a page prefetches is what its hooks find. */
import type { ApiKeyListQuery } from "@/lib/contracts/keys";
import type { RequestListQuery } from "@/lib/contracts/requests";

export const queryKeys = {
  overview: ["overview"] as const,
  budgets: ["budgets"] as const,
  budgetHistory: (id: string) => ["budgets", id, "history"] as const,
  apiKeys: (filter: Omit<ApiKeyListQuery, "after">) => ["keys", filter] as const,
  allApiKeys: ["keys"] as const,
  requests: (query: RequestListQuery) => ["requests", query] as const,
};
