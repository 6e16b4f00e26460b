import { dehydrate, HydrationBoundary } from "@tanstack/react-query";
import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import type { ReactElement } from "react";
import { queryKeys } from "@/components/query/keys";
import { TokenIssuersPage } from "@/components/token-issuers/token-issuers-page";
import { prefetched } from "@/lib/console/prefetch";
import { requirePermission } from "@/lib/console/session";
import { readTokenIssuers } from "@/lib/console/token-issuers";

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations("issuers"))("title") };
}

export default async function Page(): Promise<ReactElement> {
  const { organisation } = await requirePermission("organisation.update");
  // An issuer may speak for every consumer, so the right at one node is not enough.
  const who = await requirePermission("organisation.update", [organisation.id]);
  const client = await prefetched(queryKeys.tokenIssuers, () => readTokenIssuers(who));
  return (
    <HydrationBoundary state={dehydrate(client)}>
      <TokenIssuersPage />
    </HydrationBoundary>
  );
}
