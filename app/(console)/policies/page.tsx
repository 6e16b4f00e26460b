import { dehydrate, HydrationBoundary } from "@tanstack/react-query";
import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import type { ReactElement } from "react";
import { PoliciesPage } from "@/components/policies/policies-page";
import { queryKeys } from "@/components/query/keys";
import { readPolicies } from "@/lib/console/policies";
import { prefetched } from "@/lib/console/prefetch";
import { requirePermission } from "@/lib/console/session";

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations("policies"))("title") };
}

export default async function Page(): Promise<ReactElement> {
  const who = await requirePermission("policy.read");
  const client = await prefetched(queryKeys.policies, () => readPolicies(who));
  return (
    <HydrationBoundary state={dehydrate(client)}>
      <PoliciesPage />
    </HydrationBoundary>
  );
}
