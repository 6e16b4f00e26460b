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

interface Props {
  readonly searchParams: Promise<Readonly<Record<string, string | string[] | undefined>>>;
}

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations("keys"))("title") };
}

export default async function Page({ searchParams }: Props): Promise<ReactElement> {
  const who = await requirePermission("key.read");
  const parsed = apiKeyListQuery.safeParse(await searchParams);
  // As the page asks: the first rows, whatever place in the list the address names.
  const { q, state } = parsed.success ? parsed.data : apiKeyListQuery.parse({});
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  await client.prefetchInfiniteQuery({
    queryKey: queryKeys.apiKeys({ q, state }),
    queryFn: () => readApiKeys(services(), who, { q, state }),
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
