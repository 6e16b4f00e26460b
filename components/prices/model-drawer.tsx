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
import { Choice, Field, Input, Select } from "@/components/ui/field";
import { upsertModelInput } from "@/lib/contracts/models";
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

function checkedOf(draft: Draft): ReturnType<typeof upsertModelInput.safeParse> {
  const count = (text: string): number | null => (text.trim() === "" ? null : Number(text.trim().replaceAll(",", "")));
  const counts = Object.fromEntries(COUNTS.map((name) => [name, count(draft[name])]));
  return upsertModelInput.safeParse({ ...draft, ...counts });
}

export function ModelDrawer({ book, model, onClose }: DrawerProps): ReactElement {
  const t = useTranslations("prices");
  const fieldText = useFieldText();
  const write = useConsoleWrite(queryKeys.allPrices, queryKeys.providers);
  const [draft, setDraft] = useState(() => draftOf(model));
  const [errors, setErrors] = useState<Readonly<Record<string, string>>>({});
  const onChange = (change: Partial<Draft>): void => setDraft((before) => ({ ...before, ...change }));

  function submit(): void {
    const checked = checkedOf(draft);
    const isTaken = model === null && book.models.some((one) => one.name === draft.name.trim());
    if (!checked.success || isTaken) {
      const issues = checked.success ? {} : issuesByPath(checked.error.issues);
      for (const name of COUNTS) if (name in issues) issues[name] = "number_malformed";
      setErrors(isTaken ? { ...issues, name: "name_taken" } : issues);
      return;
    }
    setErrors({});
    write.mutate(
      { path: "/api/console/models", method: "POST", body: checked.data },
      {
        onSuccess: () => {
          toast.success(t("modelSaved", { name: checked.data.name }));
          onClose();
        },
        onError: (error) => setErrors(fieldErrorsOf(error)),
      },
    );
  }

  return (
    <FormDrawer
      title={t(model === null ? "createModel" : "editModel")}
      description={t("modelLead")}
      submitLabel={t("save")}
      isPending={write.isPending}
      error={write.error}
      errors={errors}
      onSubmit={submit}
      onClose={onClose}
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
            onChange={(event) => onChange({ name: event.target.value })}
          />
        )}
      </Field>
      <Field label={t("field.kind")} hint={t("hint.kind")} error={fieldText(errors["kind"])}>
        {(attributes) => (
          <Select
            {...attributes}
            value={draft.kind}
            onChange={(event) => onChange({ kind: MODEL_KINDS.find((one) => one === event.target.value) ?? "chat" })}
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
                onChange={(event) => onChange({ [name]: event.target.value })}
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
        onChange={(event) => onChange({ isExternal: event.target.checked })}
      />
      {model === null ? null : (
        <Choice
          type="checkbox"
          label={t("field.disabled")}
          hint={t("hint.disabled")}
          checked={draft.disabled}
          onChange={(event) => onChange({ disabled: event.target.checked })}
        />
      )}
    </FormDrawer>
  );
}
