import { dehydrate, HydrationBoundary } from "@tanstack/react-query";
import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import type { ReactElement } from "react";
import { PricesPage } from "@/components/prices/prices-page";
import { queryKeys } from "@/components/query/keys";
import { prefetched } from "@/lib/console/prefetch";
import { readPriceBook } from "@/lib/console/prices";
import { requirePermission } from "@/lib/console/session";
import { priceBookQuery } from "@/lib/contracts/prices";

interface Props {
  readonly searchParams: Promise<Readonly<Record<string, string | string[] | undefined>>>;
}

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations("prices"))("title") };
}

export default async function Page({ searchParams }: Props): Promise<ReactElement> {
  const who = await requirePermission("price.read");
  const parsed = priceBookQuery.safeParse(await searchParams);
  const query = parsed.success ? parsed.data : { at: "" };
  const client = await prefetched(queryKeys.priceBook(query.at), () => readPriceBook(who, query));
  return (
    <HydrationBoundary state={dehydrate(client)}>
      <PricesPage />
    </HydrationBoundary>
  );
}
