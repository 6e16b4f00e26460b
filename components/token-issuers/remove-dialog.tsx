"use client";
import { useTranslations } from "next-intl";
import { useState } from "react";
import type { ReactElement } from "react";
import { toast } from "sonner";
import { FormFrame } from "@/components/query/form-frame";
import { queryKeys } from "@/components/query/keys";
import { useConsoleWrite } from "@/components/query/use-console-write";
import { Field, Input } from "@/components/ui/field";
import type { TokenIssuerView } from "@/lib/contracts/token-issuers";

interface DialogProps {
  readonly issuer: TokenIssuerView;
  readonly onClose: () => void;
}

/** Ending the trust is for good, so the name is typed. */
export function RemoveIssuerDialog({ issuer, onClose }: DialogProps): ReactElement {
  const t = useTranslations("issuers");
  const write = useConsoleWrite(queryKeys.tokenIssuers);
  const [typed, setTyped] = useState("");
  const remove = (): void =>
    write.mutate(
      { path: `/api/console/token-issuers/${issuer.id}`, method: "DELETE", body: {} },
      {
        onSuccess: () => {
          toast.success(t("removed", { name: issuer.name }));
          onClose();
        },
      },
    );
  return (
    <FormFrame
      shape="dialog"
      title={t("removeTitle", { name: issuer.name })}
      description={t("removeLead")}
      submitLabel={t("remove")}
      pendingLabel={t("removing")}
      isDanger
      canSubmit={typed.trim() === issuer.name}
      isPending={write.isPending}
      error={write.error}
      onSubmit={remove}
      onClose={onClose}
    >
      <Field label={t("typeName", { name: issuer.name })}>
        {(attributes) => (
          <Input {...attributes} value={typed} autoComplete="off" onChange={(event) => setTyped(event.target.value)} />
        )}
      </Field>
    </FormFrame>
  );
}
