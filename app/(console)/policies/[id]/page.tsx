import { dehydrate, HydrationBoundary } from "@tanstack/react-query";
import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import type { ReactElement } from "react";
import { PolicyPage } from "@/components/policies/policy-page";
import { queryKeys } from "@/components/query/keys";
import { readPolicies } from "@/lib/console/policies";
import { prefetched } from "@/lib/console/prefetch";
import { requirePermission } from "@/lib/console/session";

interface Props {
  readonly params: Promise<{ readonly id: string }>;
}

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations("policies"))("title") };
}

export default async function Page({ params }: Props): Promise<ReactElement> {
  const who = await requirePermission("policy.read");
  const { id } = await params;
  const client = await prefetched(queryKeys.policies, () => readPolicies(who));
  return (
    <HydrationBoundary state={dehydrate(client)}>
      <PolicyPage policyId={id} />
    </HydrationBoundary>
  );
}
