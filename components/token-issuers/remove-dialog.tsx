"use client";
import { useTranslations } from "next-intl";
import { useState } from "react";
import type { ReactElement } from "react";
import { toast } from "sonner";
import { queryKeys } from "@/components/query/keys";
import { useConsoleWrite } from "@/components/query/use-console-write";
import { useErrorText } from "@/components/query/use-error-text";
import { Button } from "@/components/ui/button";
import { Dialog, DialogClose, DialogContent } from "@/components/ui/dialog";
import { Field, Input } from "@/components/ui/field";
import { Notice } from "@/components/ui/notice";
import type { TokenIssuerView } from "@/lib/contracts/token-issuers";

interface DialogProps {
  readonly issuer: TokenIssuerView;
  readonly onClose: () => void;
}

/** Ending the trust is for good, so the name is typed. */
export function RemoveIssuerDialog({ issuer, onClose }: DialogProps): ReactElement {
  const t = useTranslations("issuers");
  const c = useTranslations("common");
  const errorText = useErrorText();
  const write = useConsoleWrite(queryKeys.tokenIssuers);
  const [typed, setTyped] = useState("");
  return (
    <Dialog open onOpenChange={(open) => (open ? undefined : onClose())}>
      <DialogContent
        title={t("removeTitle", { name: issuer.name })}
        description={t("removeLead")}
        footer={
          <>
            <DialogClose asChild>
              <Button>{c("cancel")}</Button>
            </DialogClose>
            <Button
              variant="danger"
              disabled={typed.trim() !== issuer.name || write.isPending}
              onClick={() =>
                write.mutate(
                  { path: `/api/console/token-issuers/${issuer.id}`, method: "DELETE", body: {} },
                  {
                    onSuccess: () => {
                      toast.success(t("removed", { name: issuer.name }));
                      onClose();
                    },
                  },
                )
              }
            >
              {t(write.isPending ? "removing" : "remove")}
            </Button>
          </>
        }
      >
        {write.error === null ? null : (
          <Notice tone="danger" role="alert" className="mb-3">
            {errorText(write.error)}
          </Notice>
        )}
        <Field label={t("typeName", { name: issuer.name })}>
          {(attributes) => (
            <Input
              {...attributes}
              value={typed}
              autoComplete="off"
              onChange={(event) => setTyped(event.target.value)}
            />
          )}
        </Field>
      </DialogContent>
    </Dialog>
  );
}
