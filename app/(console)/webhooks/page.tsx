import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import type { ReactElement } from "react";
import { WebhooksPage } from "@/components/webhooks/webhooks-page";
import { requirePermission } from "@/lib/console/session";

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations("webhooks"))("title") };
}

export default async function Page(): Promise<ReactElement> {
  await requirePermission("organisation.update");
  return <WebhooksPage />;
}
