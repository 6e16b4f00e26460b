"use client";
import { useMutation } from "@tanstack/react-query";
import { FlaskConical } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import type { ReactElement } from "react";
import { newIdempotencyKey, writeConsole } from "@/components/query/console-fetch";
import { FormFrame } from "@/components/query/form-frame";
import { Button } from "@/components/ui/button";
import { Notice } from "@/components/ui/notice";
import { sampleRemoved } from "@/lib/contracts/session";

/** Says that the numbers are made up, and takes them away in one step. */
export function SampleBanner({ canRemove }: { readonly canRemove: boolean }): ReactElement {
  const t = useTranslations("sample");
  const [isAsking, setAsking] = useState(false);
  const [key] = useState(newIdempotencyKey);
  const remove = useMutation({
    mutationFn: () =>
      writeConsole("/api/console/sample", { method: "DELETE", body: {}, schema: sampleRemoved, idempotencyKey: key }),
    onSuccess: () => window.location.assign("/overview"),
  });
  return (
    <>
      <Notice
        className="mb-4"
        icon={<FlaskConical aria-hidden className="text-brand" />}
        action={
          canRemove ? (
            <Button size="sm" onClick={() => setAsking(true)}>
              {t("remove")}
            </Button>
          ) : undefined
        }
      >
        {t("banner")}
      </Notice>
      {isAsking ? (
        <FormFrame
          shape="dialog"
          title={t("confirmTitle")}
          description={t("confirmBody")}
          submitLabel={t("confirm")}
          pendingLabel={t("removing")}
          isDanger
          isPending={remove.isPending}
          error={remove.error}
          onSubmit={remove.mutate}
          onClose={() => setAsking(false)}
        >
          <ul className="list-disc space-y-1 pl-5 text-sm">
            <li>{t("effectData")}</li>
            <li>{t("effectKeys")}</li>
            <li>{t("effectFinal")}</li>
          </ul>
        </FormFrame>
      ) : null}
    </>
  );
}
