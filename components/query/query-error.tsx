"use client";
import { TriangleAlert } from "lucide-react";
import { useTranslations } from "next-intl";
import type { ReactElement } from "react";
import { Button } from "@/components/ui/button";
import { Notice } from "@/components/ui/notice";
import { ConsoleRequestError } from "./console-fetch";

/** Says what could not be read, what to quote, and offers another try. */
export function QueryError({ error, onRetry }: { readonly error: Error; readonly onRetry: () => void }): ReactElement {
  const t = useTranslations("errors");
  const offline = error instanceof ConsoleRequestError && error.code === "offline";
  const requestId = error instanceof ConsoleRequestError ? error.requestId : undefined;
  return (
    <Notice
      tone="danger"
      role="alert"
      icon={<TriangleAlert aria-hidden className="text-danger" />}
      action={
        <Button size="sm" onClick={onRetry}>
          {t("retry")}
        </Button>
      }
    >
      {offline ? t("offline") : t("readFailed")}
      {requestId === undefined ? null : (
        <span className="block text-xs text-soft">{t("quoteId", { id: requestId })}</span>
      )}
    </Notice>
  );
}
