"use client";
import { useTranslations } from "next-intl";
import type { ReactElement } from "react";
import { checkBy } from "@/components/format/checked";
import { FormFrame } from "@/components/query/form-frame";
import { queryKeys } from "@/components/query/keys";
import { useFieldText } from "@/components/query/use-error-text";
import { useFormSave } from "@/components/query/use-form-save";
import { Choice, Field, Input } from "@/components/ui/field";
import { Notice } from "@/components/ui/notice";
import { addPriceInput } from "@/lib/contracts/models";
import type { AddPriceInput } from "@/lib/contracts/models";
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

type Text = Typed | "currency" | "perRequest" | "source";
type Draft = Readonly<Record<Text, string>> & { readonly isConfirmed: boolean };

function draftOf({ price }: PricedModel, currency: string): Draft {
  const typed = Object.fromEntries(
    NAMES.map((name) => {
      const text = price?.rates[TYPED[name]];
      return [name, text === undefined ? "" : perMillion(text)];
    }),
  ) as Record<Typed, string>;
  const own = { currency: price?.currency ?? currency, perRequest: price?.rates.perRequest ?? "", source: "" };
  return { ...typed, ...own, isConfirmed: false };
}

/** Empty fields are not said at all: absent is unknown, "0" is free on purpose. */
function inputOf(draft: Draft, modelId: string): unknown {
  const said = (names: readonly Text[]): Record<string, string> =>
    Object.fromEntries(names.flatMap((name) => (draft[name].trim() === "" ? [] : [[name, draft[name].trim()]])));
  const { currency, ...rest } = said(["currency", "perRequest", "source"]);
  return {
    ...rest,
    modelId,
    currency: currency ?? "",
    perMillion: { input: "", ...said(NAMES) },
    confirmSuspicious: draft.isConfirmed,
  };
}

export function PriceDrawer({ book, model, onClose }: DrawerProps): ReactElement {
  const t = useTranslations("prices");
  const fieldText = useFieldText();
  const { draft, errors, change, state } = useFormSave<Draft, AddPriceInput>({
    initial: () => draftOf(model, book.organisation.currency),
    path: "/api/console/prices",
    stale: [queryKeys.allPrices],
    check: (typed) => checkBy(addPriceInput, inputOf(typed, model.id)),
    saved: () => t("priceSaved", { name: model.name }),
    onClose,
  });
  const lost = model.price === null ? 0 : otherRates(model.price.rates).length - lostNames(model);
  const input = (name: Text, field: string, label: string, hint?: string): ReactElement => (
    <Field key={name} label={label} {...(hint === undefined ? {} : { hint })} error={fieldText(errors[field])}>
      {(attributes) => (
        <Input
          {...attributes}
          inputMode={name === "currency" || name === "source" ? "text" : "decimal"}
          autoComplete="off"
          className="figures"
          value={draft[name]}
          onChange={(event) => change({ [name]: event.target.value })}
        />
      )}
    </Field>
  );
  return (
    <FormFrame
      {...state}
      shape="drawer"
      title={t("newPrice")}
      description={t("priceLead", { name: model.name })}
      submitLabel={t("setPrice")}
    >
      {lost > 0 ? <Notice tone="warn">{t("richPrice", { count: lost })}</Notice> : null}
      {input("currency", "currency", t("col.currency"))}
      <div className="grid gap-4 sm:grid-cols-2">
        {NAMES.map((name) => input(name, `perMillion.${name}`, t("millionField", { rate: t(`rates.${TYPED[name]}`) })))}
        {input("perRequest", "perRequest", t("rates.perRequest"))}
      </div>
      {input("source", "source", t("field.source"), t("hint.source"))}
      {"confirmSuspicious" in errors || draft.isConfirmed ? (
        <Notice tone="warn" role="alert">
          <Choice
            type="checkbox"
            label={t("confirmPrice")}
            hint={t("confirmPriceHint")}
            checked={draft.isConfirmed}
            onChange={(event) => change({ isConfirmed: event.target.checked })}
          />
        </Notice>
      ) : null}
    </FormFrame>
  );
}

/** How many of the row's other lines the form can say. */
function lostNames({ price }: PricedModel): number {
  const sayable: readonly string[] = [...Object.values(TYPED), "perRequest"];
  return price === null ? 0 : otherRates(price.rates).filter(({ path }) => sayable.includes(path)).length;
}
