import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import type { ReactElement } from "react";
import { WelcomePanel } from "@/components/shell/welcome-panel";
import { requireNewcomer } from "@/lib/console/welcome";

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations("welcome"))("title") };
}

export default async function WelcomePage(): Promise<ReactElement> {
  return <WelcomePanel {...await requireNewcomer()} />;
}
