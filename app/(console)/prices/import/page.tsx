import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import type { ReactElement } from "react";
import { ImportPage } from "@/components/prices/import-page";
import { requirePermission } from "@/lib/console/session";

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations("imports"))("title") };
}

export default async function Page(): Promise<ReactElement> {
  const { organisation } = await requirePermission("price.write");
  // Prices are the whole organisation's: the right at one of its departments is not enough.
  await requirePermission("price.write", [organisation.id]);
  return <ImportPage timeZone={organisation.timeZone} />;
}
