import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import type { ReactElement } from "react";
import { RequestDetailView } from "@/components/requests/request-detail";
import { orNotFound } from "@/lib/console/or-not-found";
import { readRequest } from "@/lib/console/requests";
import { services } from "@/lib/console/services";
import { requirePermission } from "@/lib/console/session";

interface Props {
  readonly params: Promise<{ readonly id: string }>;
}

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations("requests"))("detailTitle") };
}

export default async function Page({ params }: Props): Promise<ReactElement> {
  const who = await requirePermission("request.read");
  const { id } = await params;
  return <RequestDetailView detail={await orNotFound(readRequest(services(), who, id))} />;
}
