import { dehydrate, HydrationBoundary, QueryClient } from "@tanstack/react-query";
import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import type { ReactElement } from "react";
import { queryKeys } from "@/components/query/keys";
import { RequestsPage } from "@/components/requests/requests-page";
import { readRequests } from "@/lib/console/requests";
import { services } from "@/lib/console/services";
import { requirePermission } from "@/lib/console/session";
import { requestListQuery } from "@/lib/contracts/requests";
import type { RequestList } from "@/lib/contracts/requests";

interface Props {
  readonly searchParams: Promise<Readonly<Record<string, string | string[] | undefined>>>;
}

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations("requests"))("title") };
}

export default async function Page({ searchParams }: Props): Promise<ReactElement> {
  const who = await requirePermission("request.read");
  const parsed = requestListQuery.safeParse(await searchParams);
  const query = { ...(parsed.success ? parsed.data : requestListQuery.parse({})), after: "" };
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  await client.prefetchInfiniteQuery({
    queryKey: queryKeys.requests(query),
    queryFn: () => readRequests(services(), who, query),
    initialPageParam: "",
    getNextPageParam: (last: RequestList) => last.next,
    pages: 1,
  });
  return (
    <HydrationBoundary state={dehydrate(client)}>
      <RequestsPage />
    </HydrationBoundary>
  );
}
