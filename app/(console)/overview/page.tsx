import { dehydrate, HydrationBoundary } from "@tanstack/react-query";
import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import type { ReactElement } from "react";
import { OverviewPage } from "@/components/overview/overview-page";
import { queryKeys } from "@/components/query/keys";
import { readOverview } from "@/lib/console/overview";
import { prefetched } from "@/lib/console/prefetch";
import { services } from "@/lib/console/services";
import { requirePermission } from "@/lib/console/session";

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations("overview"))("title") };
}

export default async function Page(): Promise<ReactElement> {
  const who = await requirePermission("usage.read");
  const client = await prefetched(queryKeys.overview, () => readOverview(services(), who));
  return (
    <HydrationBoundary state={dehydrate(client)}>
      <OverviewPage />
    </HydrationBoundary>
  );
}
