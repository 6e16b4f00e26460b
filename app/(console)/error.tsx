"use client";
import { useTranslations } from "next-intl";
import type { ReactElement } from "react";
import { Button } from "@/components/ui/button";
import { EmptyState } from "@/components/ui/notice";

interface Props {
  readonly error: Error & { readonly digest?: string };
  readonly reset: () => void;
}

export default function ConsoleError({ error, reset }: Props): ReactElement {
  const t = useTranslations("errors");
  return (
    <div role="alert">
      <EmptyState
        isPage
        title={t("pageTitle")}
        body={
          <>
            {t("pageBody")}
            {error.digest === undefined ? null : (
              <span className="mt-1 block text-xs">{t("quoteId", { id: error.digest })}</span>
            )}
          </>
        }
        action={<Button onClick={reset}>{t("retry")}</Button>}
      />
    </div>
  );
}
