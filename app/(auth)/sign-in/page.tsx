import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import { redirect } from "next/navigation";
import type { ReactElement } from "react";
import { SignInPanel } from "@/components/shell/sign-in-panel";
import { currentPerson, currentPrincipal } from "@/lib/console/session";
import { hasSampleCompany, localPath } from "@/lib/console/sign-in";

interface Props {
  readonly searchParams: Promise<Readonly<Record<string, string | string[] | undefined>>>;
}

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations("signIn"))("title") };
}

export default async function SignInPage({ searchParams }: Props): Promise<ReactElement> {
  const next = localPath((await searchParams)["next"]);
  if ((await currentPrincipal()) !== null) redirect(next);
  if ((await currentPerson()) !== null) redirect("/welcome");
  return <SignInPanel next={next} isSample={hasSampleCompany()} />;
}
