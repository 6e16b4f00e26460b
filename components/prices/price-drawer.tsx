"use client";
import { useTranslations } from "next-intl";
import { useState } from "react";
import type { ReactElement } from "react";
import { toast } from "sonner";
import { issuesByPath } from "@/components/format/issues";
import { FormDrawer } from "@/components/query/form-drawer";
import { queryKeys } from "@/components/query/keys";
import { useConsoleWrite } from "@/components/query/use-console-write";
import { fieldErrorsOf, useFieldText } from "@/components/query/use-error-text";
import { Choice, Field, Input } from "@/components/ui/field";
import { Notice } from "@/components/ui/notice";
import { addPriceInput } from "@/lib/contracts/models";
import type { PriceBook, PricedModel } from "@/lib/contracts/prices";
import { otherRates, perMillion } from "./rate-text";

interface DrawerProps {
  readonly book: PriceBook;
  readonly model: PricedModel;
  readonly onClose: () => void;
}

/** The rates that a person types; richer rows come by import. */
const TYPED = {
  input: "inputPerToken",
  cacheRead: "cacheReadPerToken",
  cacheWrite: "cacheWritePerToken",
  output: "outputPerToken",
  reasoning: "reasoningPerToken",
} as const;
type Typed = keyof typeof TYPED;
const NAMES = Object.keys(TYPED) as readonly Typed[];

type Draft = Readonly<Record<Typed | "currency" | "perRequest" | "source", string>>;

function draftOf({ price }: PricedModel, currency: string): Draft {
  const typed = Object.fromEntries(
    NAMES.map((name) => {
      const text = price?.rates[TYPED[name]];
      return [name, text === undefined ? "" : perMillion(text)];
    }),
  ) as Record<Typed, string>;
  return { ...typed, currency: price?.currency ?? currency, perRequest: price?.rates.perRequest ?? "", source: "" };
}

/** Empty fields are not said at all: absent is unknown, "0" is free on purpose. */
function inputOf(draft: Draft, modelId: string, confirmSuspicious: boolean): unknown {
  const said = (names: readonly (keyof Draft)[]): Record<string, string> =>
    Object.fromEntries(names.flatMap((name) => (draft[name].trim() === "" ? [] : [[name, draft[name].trim()]])));
  const { currency, ...rest } = said(["currency", "perRequest", "source"]);
  return { ...rest, modelId, currency: currency ?? "", perMillion: { input: "", ...said(NAMES) }, confirmSuspicious };
}

export function PriceDrawer({ book, model, onClose }: DrawerProps): ReactElement {
  const t = useTranslations("prices");
  const fieldText = useFieldText();
  const write = useConsoleWrite(queryKeys.allPrices);
  const [draft, setDraft] = useState(() => draftOf(model, book.organisation.currency));
  const [isConfirmed, setConfirmed] = useState(false);
  const [errors, setErrors] = useState<Readonly<Record<string, string>>>({});
  const lost = model.price === null ? 0 : otherRates(model.price.rates).length - lostNames(model);

  function submit(): void {
    const checked = addPriceInput.safeParse(inputOf(draft, model.id, isConfirmed));
    setErrors(checked.success ? {} : issuesByPath(checked.error.issues));
    if (!checked.success) return;
    write.mutate(
      { path: "/api/console/prices", method: "POST", body: checked.data },
      {
        onSuccess: () => {
          toast.success(t("priceSaved", { name: model.name }));
          onClose();
        },
        onError: (error) => setErrors(fieldErrorsOf(error)),
      },
    );
  }

  const input = (name: keyof Draft, field: string, label: string, hint?: string): ReactElement => (
    <Field key={name} label={label} {...(hint === undefined ? {} : { hint })} error={fieldText(errors[field])}>
      {(attributes) => (
        <Input
          {...attributes}
          inputMode={name === "currency" || name === "source" ? "text" : "decimal"}
          autoComplete="off"
          className="figures"
          value={draft[name]}
          onChange={(event) => setDraft((before) => ({ ...before, [name]: event.target.value }))}
        />
      )}
    </Field>
  );
  return (
    <FormDrawer
      title={t("newPrice")}
      description={t("priceLead", { name: model.name })}
      submitLabel={t("setPrice")}
      isPending={write.isPending}
      error={write.error}
      errors={errors}
      onSubmit={submit}
      onClose={onClose}
    >
      {lost > 0 ? <Notice tone="warn">{t("richPrice", { count: lost })}</Notice> : null}
      {input("currency", "currency", t("col.currency"))}
      <div className="grid gap-4 sm:grid-cols-2">
        {NAMES.map((name) => input(name, `perMillion.${name}`, t("millionField", { rate: t(`rates.${TYPED[name]}`) })))}
        {input("perRequest", "perRequest", t("rates.perRequest"))}
      </div>
      {input("source", "source", t("field.source"), t("hint.source"))}
      {"confirmSuspicious" in errors || isConfirmed ? (
        <Notice tone="warn" role="alert">
          <Choice
            type="checkbox"
            label={t("confirmPrice")}
            hint={t("confirmPriceHint")}
            checked={isConfirmed}
            onChange={(event) => setConfirmed(event.target.checked)}
          />
        </Notice>
      ) : null}
    </FormDrawer>
  );
}

/** How many of the row's other lines the form can say. */
function lostNames({ price }: PricedModel): number {
  const sayable: readonly string[] = [...Object.values(TYPED), "perRequest"];
  return price === null ? 0 : otherRates(price.rates).filter(({ path }) => sayable.includes(path)).length;
}
