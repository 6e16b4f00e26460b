"use client";
import { useTranslations } from "next-intl";
import { useState } from "react";
import type { ReactElement } from "react";
import { toast } from "sonner";
import { FormDrawer } from "@/components/query/form-drawer";
import { queryKeys } from "@/components/query/keys";
import { useConsoleWrite } from "@/components/query/use-console-write";
import { fieldErrorsOf } from "@/components/query/use-error-text";
import type { TokenIssuerList, TokenIssuerView } from "@/lib/contracts/token-issuers";
import { draftOf, EMPTY_DRAFT, formErrors, toInput } from "./issuer-draft";
import type { IssuerDraft } from "./issuer-draft";
import { IssuerForm } from "./issuer-form";

interface DrawerProps {
  readonly list: TokenIssuerList;
  readonly issuer: TokenIssuerView | null;
  readonly onClose: () => void;
}

export function IssuerDrawer({ list, issuer, onClose }: DrawerProps): ReactElement {
  const t = useTranslations("issuers");
  const write = useConsoleWrite(queryKeys.tokenIssuers);
  const [draft, setDraft] = useState<IssuerDraft>(() => (issuer === null ? EMPTY_DRAFT : draftOf(issuer)));
  const [errors, setErrors] = useState<Readonly<Record<string, string>>>({});

  function submit(): void {
    const checked = toInput(draft);
    const isTaken = issuer === null && list.issuers.some((one) => one.name === draft.name.trim());
    if (!checked.ok || isTaken) {
      setErrors({ ...(checked.ok ? {} : checked.errors), ...(isTaken ? { name: "name_taken" } : {}) });
      return;
    }
    setErrors({});
    write.mutate(
      { path: "/api/console/token-issuers", method: "POST", body: checked.input },
      {
        onSuccess: () => {
          toast.success(t("saved", { name: checked.input.name }));
          onClose();
        },
        onError: (error) => setErrors(formErrors(fieldErrorsOf(error))),
      },
    );
  }

  return (
    <FormDrawer
      title={t(issuer === null ? "createTitle" : "editTitle")}
      description={t("drawerLead")}
      submitLabel={t("save")}
      isPending={write.isPending}
      error={write.error}
      errors={errors}
      onSubmit={submit}
      onClose={onClose}
    >
      <IssuerForm
        list={list}
        issuer={issuer}
        draft={draft}
        errors={errors}
        onChange={(change) => setDraft((before) => ({ ...before, ...change }))}
      />
    </FormDrawer>
  );
}
