"use client";
import { useMutation } from "@tanstack/react-query";
import { FlaskConical } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import type { ReactElement } from "react";
import { toast } from "sonner";
import { newIdempotencyKey, writeConsole } from "@/components/query/console-fetch";
import { useErrorText } from "@/components/query/use-error-text";
import { Button } from "@/components/ui/button";
import { Dialog, DialogClose, DialogContent, DialogTrigger } from "@/components/ui/dialog";
import { Notice } from "@/components/ui/notice";
import { sampleRemoved } from "@/lib/contracts/session";

/** Says that the numbers are made up, and takes them away in one step. */
export function SampleBanner({ canRemove }: { readonly canRemove: boolean }): ReactElement {
  const t = useTranslations("sample");
  const c = useTranslations("common");
  const errorText = useErrorText();
  const [key] = useState(newIdempotencyKey);
  const remove = useMutation({
    mutationFn: () =>
      writeConsole("/api/console/sample", { method: "DELETE", body: {}, schema: sampleRemoved, idempotencyKey: key }),
    onSuccess: () => window.location.assign("/overview"),
    onError: (error) => toast.error(errorText(error)),
  });
  return (
    <Notice
      className="mb-4"
      icon={<FlaskConical aria-hidden className="text-brand" />}
      action={
        canRemove ? (
          <Dialog>
            <DialogTrigger asChild>
              <Button size="sm">{t("remove")}</Button>
            </DialogTrigger>
            <DialogContent
              title={t("confirmTitle")}
              description={t("confirmBody")}
              footer={
                <>
                  <DialogClose asChild>
                    <Button>{c("cancel")}</Button>
                  </DialogClose>
                  <Button variant="danger" disabled={remove.isPending} onClick={() => remove.mutate()}>
                    {remove.isPending ? t("removing") : t("confirm")}
                  </Button>
                </>
              }
            >
              <ul className="list-disc space-y-1 pl-5 text-sm">
                <li>{t("effectData")}</li>
                <li>{t("effectKeys")}</li>
                <li>{t("effectFinal")}</li>
              </ul>
            </DialogContent>
          </Dialog>
        ) : undefined
      }
    >
      {t("banner")}
    </Notice>
  );
}
