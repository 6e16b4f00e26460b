import { useTranslations } from "next-intl";
import Link from "next/link";
import type { ReactElement } from "react";
import { Button } from "@/components/ui/button";
import { EmptyState } from "@/components/ui/notice";

export default function NotFound(): ReactElement {
  const t = useTranslations("errors");
  return (
    <main className="grid min-h-dvh place-items-center">
      <EmptyState
        isPage
        title={t("missingTitle")}
        body={t("missingBody")}
        action={
          <Button asChild>
            <Link href="/overview">{t("toOverview")}</Link>
          </Button>
        }
      />
    </main>
  );
}
