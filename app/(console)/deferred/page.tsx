import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import type { ReactElement } from "react";
import { DeferredPage } from "@/components/deferred/deferred-page";
import { requirePermission } from "@/lib/console/session";

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations("deferred"))("title") };
}

export default async function Page(): Promise<ReactElement> {
  await requirePermission("request.read");
  return <DeferredPage />;
}
