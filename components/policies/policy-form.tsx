"use client";
import { useTranslations } from "next-intl";
import { createContext, useContext } from "react";
import type { ReactElement, ReactNode } from "react";
import { useFieldText } from "@/components/query/use-error-text";
import { Choice, Field, Input, Select, Textarea } from "@/components/ui/field";
import type { PolicyDraft, TextSetting } from "./policy-draft";

interface FormState {
  readonly draft: PolicyDraft;
  readonly errors: Readonly<Record<string, string>>;
  readonly currency: string;
  readonly onChange: (change: Partial<PolicyDraft>) => void;
}

const FormContext = createContext<FormState | null>(null);

function useForm(): FormState {
  const form = useContext(FormContext);
  if (form === null) throw new Error("a field of the policy form stands outside of it");
  return form;
}

/** A setting typed as text: a number, an amount, or names one a line. */
function Text({ name, rows }: { readonly name: TextSetting; readonly rows?: number }): ReactElement {
  const t = useTranslations("policies");
  const fieldText = useFieldText();
  const { draft, errors, currency, onChange } = useForm();
  return (
    <Field label={t(`field.${name}`, { currency })} hint={t(`hint.${name}`)} error={fieldText(errors[name])}>
      {(attributes) =>
        rows === undefined ? (
          <Input
            {...attributes}
            inputMode={name === "fallbackCurrency" ? "text" : "decimal"}
            autoComplete="off"
            className="figures"
            value={draft[name]}
            placeholder={t("notSaid")}
            onChange={(event) => onChange({ [name]: event.target.value })}
          />
        ) : (
          <Textarea
            {...attributes}
            rows={rows}
            spellCheck={false}
            className={name === "staticEn" || name === "staticZh" ? "" : "font-mono text-[0.8125rem]"}
            value={draft[name]}
            onChange={(event) => onChange({ [name]: event.target.value })}
          />
        )
      }
    </Field>
  );
}

const CHOICES = {
  reserveMode: ["max", "incremental"],
  clientGone: ["cut", "drain"],
  unknownOutcome: ["hold", "input"],
} as const;

function Pick({ name }: { readonly name: keyof typeof CHOICES }): ReactElement {
  const t = useTranslations("policies");
  const { draft, onChange } = useForm();
  return (
    <Field label={t(`field.${name}`)} hint={t(`hint.${name}`)}>
      {(attributes) => (
        <Select
          {...attributes}
          value={draft[name]}
          onChange={(event) => onChange({ [name]: CHOICES[name].find((one) => one === event.target.value) ?? "" })}
        >
          <option value="">{t("notSaid")}</option>
          {CHOICES[name].map((one) => (
            <option key={one} value={one}>
              {t(`choice.${one}`)}
            </option>
          ))}
        </Select>
      )}
    </Field>
  );
}

function Tick({ name }: { readonly name: "defers" | "hasFallbackPrice" | "sessionRequired" }): ReactElement {
  const t = useTranslations("policies");
  const { draft, onChange } = useForm();
  return (
    <Choice
      type="checkbox"
      label={t(`field.${name}`)}
      hint={t(`hint.${name}`)}
      checked={draft[name]}
      onChange={(event) => onChange({ [name]: event.target.checked })}
    />
  );
}

function Group({
  name,
  children,
}: {
  readonly name: "hold" | "session" | "again" | "later" | "price" | "models" | "texts";
  readonly children: ReactNode;
}): ReactElement {
  const t = useTranslations("policies");
  return (
    <fieldset className="border-t px-4 py-4 first:border-t-0 sm:px-5">
      <legend className="float-left mb-1 w-full text-[0.9375rem] font-semibold">{t(`group.${name}`)}</legend>
      <p className="clear-both mb-3 text-xs text-soft">{t(`groupNote.${name}`)}</p>
      <div className="grid items-start gap-4 sm:grid-cols-2">{children}</div>
    </fieldset>
  );
}

interface PolicyFormProps extends FormState {
  readonly canPrice: boolean;
}

export function PolicyForm({ canPrice, ...form }: PolicyFormProps): ReactElement {
  const { draft } = form;
  return (
    <FormContext value={form}>
      <Group name="hold">
        <Text name="outputCapTokens" />
        <Pick name="reserveMode" />
        {draft.reserveMode === "incremental" ? (
          <>
            <Text name="sliceTokens" />
            <Text name="marginTokens" />
          </>
        ) : null}
        <Pick name="clientGone" />
        <Pick name="unknownOutcome" />
      </Group>
      <Group name="session">
        <Text name="sessionCost" />
        <Text name="sessionRequests" />
        <Text name="sessionIdle" />
        <Tick name="sessionRequired" />
      </Group>
      <Group name="again">
        <Text name="answerKeepSeconds" />
        <Text name="retryWindowSeconds" />
      </Group>
      <Group name="later">
        <div className="sm:col-span-2">
          <Tick name="defers" />
        </div>
        {draft.defers ? (
          <>
            <Text name="deadlineSeconds" />
            <Text name="keepSeconds" />
          </>
        ) : null}
      </Group>
      {canPrice || draft.hasFallbackPrice ? (
        <Group name="price">
          <div className="sm:col-span-2">
            <Tick name="hasFallbackPrice" />
          </div>
          {draft.hasFallbackPrice ? (
            <>
              <Text name="fallbackCurrency" />
              <Text name="fallbackInput" />
              <Text name="fallbackOutput" />
            </>
          ) : null}
        </Group>
      ) : null}
      <Group name="models">
        <Text name="allow" rows={3} />
        <Text name="deny" rows={3} />
        <Text name="fallbacks" rows={3} />
        <Text name="regions" rows={2} />
      </Group>
      <Group name="texts">
        <Text name="staticEn" rows={3} />
        <Text name="staticZh" rows={3} />
      </Group>
    </FormContext>
  );
}
