import { dehydrate, HydrationBoundary } from "@tanstack/react-query";
import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import type { ReactElement } from "react";
import { KeysPage } from "@/components/keys/keys-page";
import { queryKeys } from "@/components/query/keys";
import { readApiKeys } from "@/lib/console/keys";
import { prefetched } from "@/lib/console/prefetch";
import { services } from "@/lib/console/services";
import { requirePermission } from "@/lib/console/session";
import { apiKeyListQuery } from "@/lib/contracts/keys";

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations("keys"))("title") };
}

export default async function Page(): Promise<ReactElement> {
  const who = await requirePermission("key.read");
  const query = apiKeyListQuery.parse({});
  const client = await prefetched(queryKeys.apiKeys(query), () => readApiKeys(services(), who, query));
  return (
    <HydrationBoundary state={dehydrate(client)}>
      <KeysPage />
    </HydrationBoundary>
  );
}
