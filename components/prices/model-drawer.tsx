"use client";
import { useTranslations } from "next-intl";
import type { ReactElement } from "react";
import { alsoCheck, checkBy } from "@/components/format/checked";
import type { Checked } from "@/components/format/checked";
import { FormFrame } from "@/components/query/form-frame";
import { queryKeys } from "@/components/query/keys";
import { useFieldText } from "@/components/query/use-error-text";
import { useFormSave } from "@/components/query/use-form-save";
import { Choice, Field, Input, Select } from "@/components/ui/field";
import { upsertModelInput } from "@/lib/contracts/models";
import type { UpsertModelInput } from "@/lib/contracts/models";
import type { PriceBook, PricedModel } from "@/lib/contracts/prices";
import { MODEL_KINDS } from "@/lib/domain/snapshot";

interface DrawerProps {
  readonly book: PriceBook;
  readonly model: PricedModel | null;
  readonly onClose: () => void;
}

interface Draft {
  readonly name: string;
  readonly kind: (typeof MODEL_KINDS)[number];
  readonly contextTokens: string;
  readonly maxOutputTokens: string;
  readonly isExternal: boolean;
  readonly disabled: boolean;
}

function draftOf(model: PricedModel | null): Draft {
  const count = (value: number | null | undefined): string => (value == null ? "" : String(value));
  return {
    name: model?.name ?? "",
    kind: model?.kind ?? "chat",
    contextTokens: count(model?.contextTokens),
    maxOutputTokens: count(model?.maxOutputTokens),
    isExternal: model?.isExternal ?? true,
    disabled: model?.disabled ?? false,
  };
}

const COUNTS = ["contextTokens", "maxOutputTokens"] as const;

function checkedOf(draft: Draft): Checked<UpsertModelInput> {
  const count = (text: string): number | null => (text.trim() === "" ? null : Number(text.trim().replaceAll(",", "")));
  const counts = Object.fromEntries(COUNTS.map((name) => [name, count(draft[name])]));
  const checked = checkBy(upsertModelInput, { ...draft, ...counts });
  const faulty = checked.ok ? [] : COUNTS.filter((name) => name in checked.errors);
  return alsoCheck(checked, Object.fromEntries(faulty.map((name) => [name, "number_malformed"])));
}

export function ModelDrawer({ book, model, onClose }: DrawerProps): ReactElement {
  const t = useTranslations("prices");
  const fieldText = useFieldText();
  const { draft, errors, change, state } = useFormSave<Draft, UpsertModelInput>({
    initial: () => draftOf(model),
    path: "/api/console/models",
    stale: [queryKeys.allPrices, queryKeys.providers],
    check: (typed) => {
      const isTaken = model === null && book.models.some((one) => one.name === typed.name.trim());
      return alsoCheck(checkedOf(typed), isTaken ? { name: "name_taken" } : {});
    },
    saved: ({ name }) => t("modelSaved", { name }),
    onClose,
  });

  return (
    <FormFrame
      {...state}
      shape="drawer"
      title={t(model === null ? "createModel" : "editModel")}
      description={t("modelLead")}
      submitLabel={t("save")}
    >
      <Field
        label={t("field.name")}
        hint={t(model === null ? "hint.name" : "hint.nameFixed")}
        error={fieldText(errors["name"])}
      >
        {(attributes) => (
          <Input
            {...attributes}
            value={draft.name}
            autoComplete="off"
            spellCheck={false}
            disabled={model !== null}
            className="font-mono text-[0.8125rem]"
            onChange={(event) => change({ name: event.target.value })}
          />
        )}
      </Field>
      <Field label={t("field.kind")} hint={t("hint.kind")} error={fieldText(errors["kind"])}>
        {(attributes) => (
          <Select
            {...attributes}
            value={draft.kind}
            onChange={(event) => change({ kind: MODEL_KINDS.find((one) => one === event.target.value) ?? "chat" })}
          >
            {MODEL_KINDS.map((kind) => (
              <option key={kind} value={kind}>
                {t(`kinds.${kind}`)}
              </option>
            ))}
          </Select>
        )}
      </Field>
      <div className="grid gap-4 sm:grid-cols-2">
        {COUNTS.map((name) => (
          <Field key={name} label={t(`field.${name}`)} hint={t(`hint.${name}`)} error={fieldText(errors[name])}>
            {(attributes) => (
              <Input
                {...attributes}
                inputMode="numeric"
                autoComplete="off"
                className="figures"
                value={draft[name]}
                onChange={(event) => change({ [name]: event.target.value })}
              />
            )}
          </Field>
        ))}
      </div>
      <Choice
        type="checkbox"
        label={t("field.isExternal")}
        hint={t("hint.isExternal")}
        checked={draft.isExternal}
        onChange={(event) => change({ isExternal: event.target.checked })}
      />
      {model === null ? null : (
        <Choice
          type="checkbox"
          label={t("field.disabled")}
          hint={t("hint.disabled")}
          checked={draft.disabled}
          onChange={(event) => change({ disabled: event.target.checked })}
        />
      )}
    </FormFrame>
  );
}
