import { useTranslations } from "next-intl";
import Link from "next/link";
import type { ReactElement } from "react";
import { Button } from "@/components/ui/button";
import { EmptyState } from "@/components/ui/notice";

/** The same for what does not exist and for what one may not see. */
export default function NotFound(): ReactElement {
  const t = useTranslations("errors");
  return (
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
  );
}
