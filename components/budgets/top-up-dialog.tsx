"use client";
import { useLocale, useTranslations } from "next-intl";
import { useState } from "react";
import type { ReactElement, SyntheticEvent } from "react";
import { amountOfMeter } from "@/components/format/money";
import { resetText } from "@/components/format/time";
import { ConsoleRequestError } from "@/components/query/console-fetch";
import { useErrorText, useFieldText } from "@/components/query/use-error-text";
import { Button } from "@/components/ui/button";
import { Dialog, DialogClose, DialogContent } from "@/components/ui/dialog";
import { Field, Input, Textarea } from "@/components/ui/field";
import { Notice } from "@/components/ui/notice";
import { createGrantInput } from "@/lib/contracts/budgets";
import type { BudgetTree, BudgetView } from "@/lib/contracts/budgets";
import { parseAmount } from "./budget-draft";
import { useBudgetWrite, useDoneToast } from "./use-budgets";

interface TopUpProps {
  readonly tree: BudgetTree;
  readonly budget: BudgetView;
  readonly onClose: () => void;
}

const FORM_ID = "top-up-form";

export function TopUpDialog({ tree, budget, onClose }: TopUpProps): ReactElement {
  const t = useTranslations("budgets");
  const c = useTranslations("common");
  const locale = useLocale();
  const errorText = useErrorText();
  const fieldText = useFieldText();
  const done = useDoneToast();
  const write = useBudgetWrite();
  const [amount, setAmount] = useState("");
  const [reason, setReason] = useState("");
  const [errors, setErrors] = useState<Readonly<Record<string, string>>>({});
  const parsed = parseAmount(amount, budget.meter);
  const left =
    BigInt(budget.limitAmount) + BigInt(budget.grantedAmount) - BigInt(budget.spentAmount) - BigInt(budget.heldAmount);

  function submit(event: SyntheticEvent): void {
    event.preventDefault();
    const input = createGrantInput.safeParse({
      amount: parsed.ok ? parsed.amount.toString() : "0",
      reason,
      endsAtMs: null,
    });
    if (!input.success || !parsed.ok) {
      const found: Record<string, string> = {};
      for (const issue of input.error?.issues ?? []) found[issue.path.join(".")] = issue.message;
      setErrors({ ...found, ...(parsed.ok ? {} : { amount: parsed.error }) });
      return;
    }
    setErrors({});
    if (write.isPending) return;
    write.mutate(
      { kind: "grant", budgetId: budget.id, input: input.data },
      {
        onSuccess: (result) => {
          done(t("grantDone"), result);
          onClose();
        },
        onError: (error) => {
          if (error instanceof ConsoleRequestError) setErrors(error.fields);
        },
      },
    );
  }

  const unit = budget.meter === "cost" ? tree.organisation.currency : t(`meters.${budget.meter}`);
  return (
    <Dialog open onOpenChange={(open) => (open ? undefined : onClose())}>
      <DialogContent
        title={t("topUpTitle", { name: budget.name })}
        description={t("topUpLead", { at: resetText(budget.period.endMs, locale, tree.organisation.timeZone) })}
        footer={
          <>
            <DialogClose asChild>
              <Button>{c("cancel")}</Button>
            </DialogClose>
            <Button type="submit" form={FORM_ID} variant="primary" disabled={write.isPending}>
              {write.isPending ? c("saving") : t("topUpAction")}
            </Button>
          </>
        }
      >
        <form id={FORM_ID} noValidate onSubmit={submit} className="grid gap-4">
          {write.error === null ? null : (
            <Notice tone="danger" role="alert">
              {errorText(write.error)}
            </Notice>
          )}
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
            {parsed.ok
              ? t("topUpAfter", { left: amountOfMeter(left + parsed.amount, budget.meter, locale) })
              : "\u00a0"}
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
        </form>
      </DialogContent>
    </Dialog>
  );
}
