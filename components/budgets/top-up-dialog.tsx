"use client";
import { useLocale, useTranslations } from "next-intl";
import { useState } from "react";
import type { ReactElement } from "react";
import { alsoCheck, checkBy } from "@/components/format/checked";
import type { FieldErrors } from "@/components/format/checked";
import { amountOfMeter } from "@/components/format/money";
import { resetText } from "@/components/format/time";
import { FormFrame } from "@/components/query/form-frame";
import { fieldErrorsOf, useFieldText } from "@/components/query/use-error-text";
import { Field, Input, Textarea } from "@/components/ui/field";
import { createGrantInput } from "@/lib/contracts/budgets";
import type { BudgetTree, BudgetView } from "@/lib/contracts/budgets";
import { parseAmount } from "./budget-draft";
import { useBudgetWrite, useDoneToast } from "./use-budgets";

interface TopUpProps {
  readonly tree: BudgetTree;
  readonly budget: BudgetView;
  readonly onClose: () => void;
}

export function TopUpDialog({ tree, budget, onClose }: TopUpProps): ReactElement {
  const t = useTranslations("budgets");
  const locale = useLocale();
  const fieldText = useFieldText();
  const done = useDoneToast();
  const write = useBudgetWrite();
  const [amount, setAmount] = useState("");
  const [reason, setReason] = useState("");
  const [errors, setErrors] = useState<FieldErrors>({});
  const parsed = parseAmount(amount, budget.meter);
  const left =
    BigInt(budget.limitAmount) + BigInt(budget.grantedAmount) - BigInt(budget.spentAmount) - BigInt(budget.heldAmount);

  function submit(): void {
    const draft = { amount: parsed.ok ? parsed.amount.toString() : "0", reason, endsAtMs: null };
    const checked = alsoCheck(checkBy(createGrantInput, draft), parsed.ok ? {} : { amount: parsed.error });
    setErrors(checked.ok ? {} : checked.errors);
    if (!checked.ok) return;
    write.mutate(
      { kind: "grant", budgetId: budget.id, input: checked.input },
      {
        onSuccess: (result) => {
          done(t("grantDone"), result);
          onClose();
        },
        onError: (error) => setErrors(fieldErrorsOf(error)),
      },
    );
  }

  const unit = budget.meter === "cost" ? tree.organisation.currency : t(`meters.${budget.meter}`);
  return (
    <FormFrame
      shape="dialog"
      title={t("topUpTitle", { name: budget.name })}
      description={t("topUpLead", { at: resetText(budget.period.endMs, locale, tree.organisation.timeZone) })}
      submitLabel={t("topUpAction")}
      isPending={write.isPending}
      error={write.error}
      errors={errors}
      onSubmit={submit}
      onClose={onClose}
    >
      <Field label={t("topUpAmount", { unit })} error={fieldText(errors["amount"])}>
        {(attributes) => (
          <Input
            {...attributes}
            inputMode="decimal"
            autoComplete="off"
            className="figures"
            value={amount}
            onChange={(event) => setAmount(event.target.value)}
          />
        )}
      </Field>
      <p aria-live="polite" className="-mt-2 text-xs text-soft">
        {parsed.ok ? t("topUpAfter", { left: amountOfMeter(left + parsed.amount, budget.meter, locale) }) : "\u00a0"}
      </p>
      <Field label={t("reason")} hint={t("reasonHint")} error={fieldText(errors["reason"])}>
        {(attributes) => (
          <Textarea
            {...attributes}
            value={reason}
            maxLength={500}
            onChange={(event) => setReason(event.target.value)}
          />
        )}
      </Field>
    </FormFrame>
  );
}
