/** Query keys, in one place, so that what a page prefetches is what its hooks find. */
import type { ApiKeyListQuery } from "@/lib/contracts/keys";
import type { RequestListQuery } from "@/lib/contracts/requests";

export const queryKeys = {
  overview: ["overview"] as const,
  budgets: ["budgets"] as const,
  budgetHistory: (id: string) => ["budgets", id, "history"] as const,
  apiKeys: (filter: Omit<ApiKeyListQuery, "after">) => ["keys", filter] as const,
  allApiKeys: ["keys"] as const,
  providers: ["providers"] as const,
  tokenIssuers: ["token-issuers"] as const,
  webhooks: (state: string) => ["webhooks", state] as const,
  allWebhooks: ["webhooks"] as const,
  deferred: (state: string) => ["deferred", state] as const,
  allDeferred: ["deferred"] as const,
  policies: ["policies"] as const,
  rolloutHistory: (policyId: string) => ["rollouts", policyId, "history"] as const,
  policyReplay: (policyId: string, versionId: string) => ["rollouts", policyId, "replay", versionId] as const,
  priceBook: (at: string) => ["prices", "book", at] as const,
  priceHistory: (modelId: string) => ["prices", "history", modelId] as const,
  priceImports: ["prices", "imports"] as const,
  allPrices: ["prices"] as const,
  requests: (query: RequestListQuery) => ["requests", query] as const,
};
