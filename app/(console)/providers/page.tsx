import { dehydrate, HydrationBoundary } from "@tanstack/react-query";
import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import type { ReactElement } from "react";
import { ProvidersPage } from "@/components/providers/providers-page";
import { queryKeys } from "@/components/query/keys";
import { prefetched } from "@/lib/console/prefetch";
import { readProviders } from "@/lib/console/providers";
import { requirePermission } from "@/lib/console/session";

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations("providers"))("title") };
}

export default async function Page(): Promise<ReactElement> {
  const who = await requirePermission("model.read");
  const client = await prefetched(queryKeys.providers, () => readProviders(who));
  return (
    <HydrationBoundary state={dehydrate(client)}>
      <ProvidersPage />
    </HydrationBoundary>
  );
}
