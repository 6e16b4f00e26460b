import { dehydrate, HydrationBoundary } from "@tanstack/react-query";
import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import type { ReactElement } from "react";
import { BudgetsPage } from "@/components/budgets/budgets-page";
import { queryKeys } from "@/components/query/keys";
import { readBudgetTree } from "@/lib/console/budgets";
import { prefetched } from "@/lib/console/prefetch";
import { services } from "@/lib/console/services";
import { requirePermission } from "@/lib/console/session";

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations("budgets"))("title") };
}

export default async function Page(): Promise<ReactElement> {
  const who = await requirePermission("budget.read");
  const client = await prefetched(queryKeys.budgets, () => readBudgetTree(services(), who));
  return (
    <HydrationBoundary state={dehydrate(client)}>
      <BudgetsPage />
    </HydrationBoundary>
  );
}
