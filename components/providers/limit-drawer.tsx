"use client";
import { useTranslations } from "next-intl";
import type { ReactElement } from "react";
import { toast } from "sonner";
import { FormFrame } from "@/components/query/form-frame";
import { queryKeys } from "@/components/query/keys";
import { useConsoleWrite } from "@/components/query/use-console-write";
import { useFieldText } from "@/components/query/use-error-text";
import { useFormSave } from "@/components/query/use-form-save";
import { Field, Input, Select } from "@/components/ui/field";
import type { BudgetView, CreateBudgetInput, UpdateBudgetInput } from "@/lib/contracts/budgets";
import type { ProviderList, ProviderView } from "@/lib/contracts/models";
import { LIMIT_PERIODS, limitDraftOf, toLimitInput } from "./limit-draft";
import type { LimitDraft } from "./limit-draft";

/** Budgets are what the budgets page shows too. */
const STALE = [queryKeys.providers, queryKeys.budgets];

interface DrawerProps {
  readonly list: ProviderList;
  readonly provider: ProviderView;
  /** Null: a new one. */
  readonly budget: BudgetView | null;
  readonly onClose: () => void;
}

interface FieldsProps extends Pick<DrawerProps, "provider" | "budget"> {
  readonly draft: LimitDraft;
  readonly onChange: (change: Partial<LimitDraft>) => void;
}

function Where({ provider, budget, draft, onChange }: FieldsProps): ReactElement {
  const t = useTranslations("providerLimits");
  return (
    <Field label={t("field.where")} hint={budget === null ? undefined : t("hint.whereFixed")}>
      {(attributes) => (
        <Select
          {...attributes}
          value={draft.deploymentId}
          disabled={budget !== null}
          onChange={(event) => onChange({ deploymentId: event.target.value })}
        >
          <option value="">{t("account")}</option>
          {provider.deployments.map((one) => (
            <option key={one.id} value={one.id}>
              {t("deployment", { model: one.modelName, upstream: one.upstreamModel })}
            </option>
          ))}
        </Select>
      )}
    </Field>
  );
}

export function LimitDrawer({ list, provider, budget, onClose }: DrawerProps): ReactElement {
  const t = useTranslations("providerLimits");
  const b = useTranslations("budgets");
  const fieldText = useFieldText();
  const { draft, errors, change, state } = useFormSave<LimitDraft, CreateBudgetInput | UpdateBudgetInput>({
    initial: () => limitDraftOf(budget),
    path: budget === null ? "/api/console/budgets" : `/api/console/budgets/${budget.id}`,
    method: budget === null ? "POST" : "PATCH",
    stale: STALE,
    check: (typed) => toLimitInput(typed, provider, budget),
    saved: () => t("saved", { name: provider.name }),
    onClose,
  });
  return (
    <FormFrame
      {...state}
      shape="drawer"
      title={t(budget === null ? "createTitle" : "editTitle", { name: provider.name })}
      description={t("lead")}
      submitLabel={t("save")}
    >
      <Where provider={provider} budget={budget} draft={draft} onChange={change} />
      <Field label={t("field.period")} hint={t("hint.period", { zone: list.organisation.timeZone })}>
        {(attributes) => (
          <Select
            {...attributes}
            value={draft.periodKind}
            onChange={(event) =>
              change({ periodKind: LIMIT_PERIODS.find((one) => one === event.target.value) ?? "month" })
            }
          >
            {LIMIT_PERIODS.map((kind) => (
              <option key={kind} value={kind}>
                {b(`periods.${kind}`)}
              </option>
            ))}
          </Select>
        )}
      </Field>
      <Field
        label={t("field.amount", { currency: list.organisation.currency })}
        hint={t("hint.amount")}
        error={fieldText(errors["limitAmount"])}
      >
        {(attributes) => (
          <Input
            {...attributes}
            inputMode="decimal"
            autoComplete="off"
            className="figures"
            value={draft.amount}
            onChange={(event) => change({ amount: event.target.value })}
          />
        )}
      </Field>
    </FormFrame>
  );
}

interface DialogProps {
  readonly provider: ProviderView;
  readonly budget: BudgetView;
  readonly onClose: () => void;
}

export function RemoveLimitDialog({ provider, budget, onClose }: DialogProps): ReactElement {
  const t = useTranslations("providerLimits");
  const write = useConsoleWrite(...STALE);
  const remove = (): void =>
    write.mutate(
      { path: `/api/console/budgets/${budget.id}`, method: "DELETE", body: {} },
      {
        onSuccess: () => {
          toast.success(t("removed", { name: provider.name }));
          onClose();
        },
      },
    );
  return (
    <FormFrame
      shape="dialog"
      title={t("removeTitle", { name: budget.name })}
      description={t("removeLead")}
      submitLabel={t("remove")}
      isDanger
      isPending={write.isPending}
      error={write.error}
      onSubmit={remove}
      onClose={onClose}
    />
  );
}
