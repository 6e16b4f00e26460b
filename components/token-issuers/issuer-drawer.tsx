"use client";
import { useTranslations } from "next-intl";
import type { ReactElement } from "react";
import { alsoCheck } from "@/components/format/checked";
import { FormFrame } from "@/components/query/form-frame";
import { queryKeys } from "@/components/query/keys";
import { useFormSave } from "@/components/query/use-form-save";
import type { SaveTokenIssuerInput, TokenIssuerList, TokenIssuerView } from "@/lib/contracts/token-issuers";
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
  const { draft, errors, change, state } = useFormSave<IssuerDraft, SaveTokenIssuerInput>({
    initial: () => (issuer === null ? EMPTY_DRAFT : draftOf(issuer)),
    path: "/api/console/token-issuers",
    stale: [queryKeys.tokenIssuers],
    check: (typed) => {
      const isTaken = issuer === null && list.issuers.some((one) => one.name === typed.name.trim());
      return alsoCheck(toInput(typed), isTaken ? { name: "name_taken" } : {});
    },
    saved: ({ name }) => t("saved", { name }),
    onClose,
    toFields: formErrors,
  });

  return (
    <FormFrame
      {...state}
      shape="drawer"
      title={t(issuer === null ? "createTitle" : "editTitle")}
      description={t("drawerLead")}
      submitLabel={t("save")}
    >
      <IssuerForm list={list} issuer={issuer} draft={draft} errors={errors} onChange={change} />
    </FormFrame>
  );
}
