import { dehydrate, HydrationBoundary, QueryClient } from "@tanstack/react-query";
import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import type { ReactElement } from "react";
import { KeysPage } from "@/components/keys/keys-page";
import { queryKeys } from "@/components/query/keys";
import { readApiKeys } from "@/lib/console/keys";
import { services } from "@/lib/console/services";
import { requirePermission } from "@/lib/console/session";
import { apiKeyListQuery } from "@/lib/contracts/keys";
import type { ApiKeyList } from "@/lib/contracts/keys";

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations("keys"))("title") };
}

export default async function Page(): Promise<ReactElement> {
  const who = await requirePermission("key.read");
  const query = apiKeyListQuery.parse({});
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  await client.prefetchInfiniteQuery({
    queryKey: queryKeys.apiKeys(query),
    queryFn: () => readApiKeys(services(), who, query),
    initialPageParam: "",
    getNextPageParam: (last: ApiKeyList) => last.next,
    pages: 1,
  });
  return (
    <HydrationBoundary state={dehydrate(client)}>
      <KeysPage />
    </HydrationBoundary>
  );
}
