"use client";
import { useTranslations } from "next-intl";
import type { ReactElement } from "react";
import { alsoCheck, checkBy } from "@/components/format/checked";
import { FormFrame } from "@/components/query/form-frame";
import { queryKeys } from "@/components/query/keys";
import { useFieldText } from "@/components/query/use-error-text";
import { useFormSave } from "@/components/query/use-form-save";
import { Choice, Field, Input, Select } from "@/components/ui/field";
import { BILLING_MODES, upsertProviderInput } from "@/lib/contracts/models";
import type { ProviderList, ProviderView, UpsertProviderInput } from "@/lib/contracts/models";
import { PROVIDER_KINDS } from "@/lib/domain/provider-kinds";
import { providerInputOf } from "./use-providers";

interface DrawerProps {
  readonly list: ProviderList;
  readonly provider: ProviderView | null;
  readonly onClose: () => void;
}

/** Where each vendor's API is by its own documents; only shown as an example. */
const EXAMPLE_URLS: Readonly<Record<(typeof PROVIDER_KINDS)[number], string>> = {
  openai: "https://api.openai.com/v1",
  azure: "https://resource.openai.azure.com/openai/v1",
  anthropic: "https://api.anthropic.com",
  gemini: "https://generativelanguage.googleapis.com/v1beta",
  deepseek: "https://api.deepseek.com",
  dashscope: "https://dashscope.aliyuncs.com/compatible-mode/v1",
  zhipu: "https://open.bigmodel.cn/api/paas/v4",
  moonshot: "https://api.moonshot.cn/v1",
  qianfan: "https://qianfan.baidubce.com/v2",
  ark: "https://ark.cn-beijing.volces.com/api/v3",
  vllm: "http://vllm.internal:8000/v1",
  ollama: "http://ollama.internal:11434",
  "openai-compatible": "https://models.example.com/v1",
  sandbox: "http://127.0.0.1:4010/v1",
};

const EMPTY: UpsertProviderInput = { name: "", kind: "openai", baseUrl: "", isExternal: true, billingMode: "none" };

interface FieldsProps {
  readonly draft: UpsertProviderInput;
  readonly provider: ProviderView | null;
  readonly errors: Readonly<Record<string, string>>;
  readonly onChange: (change: Partial<UpsertProviderInput>) => void;
}

function AddressFields({ draft, provider, errors, onChange }: FieldsProps): ReactElement {
  const t = useTranslations("providers");
  const fieldText = useFieldText();
  return (
    <>
      <Field
        label={t("field.name")}
        hint={t(provider === null ? "hint.name" : "hint.nameFixed")}
        error={fieldText(errors["name"])}
      >
        {(attributes) => (
          <Input
            {...attributes}
            value={draft.name}
            maxLength={200}
            autoComplete="off"
            disabled={provider !== null}
            onChange={(event) => onChange({ name: event.target.value })}
          />
        )}
      </Field>
      <Field
        label={t("field.kind")}
        hint={provider === null ? undefined : t("hint.kindFixed")}
        error={fieldText(errors["kind"])}
      >
        {(attributes) => (
          <Select
            {...attributes}
            value={draft.kind}
            disabled={provider !== null}
            onChange={(event) =>
              onChange({ kind: PROVIDER_KINDS.find((one) => one === event.target.value) ?? "openai" })
            }
          >
            {PROVIDER_KINDS.map((kind) => (
              <option key={kind} value={kind}>
                {t(`kinds.${kind}`)}
              </option>
            ))}
          </Select>
        )}
      </Field>
      <Field label={t("field.baseUrl")} hint={t("hint.baseUrl")} error={fieldText(errors["baseUrl"])}>
        {(attributes) => (
          <Input
            {...attributes}
            type="url"
            inputMode="url"
            autoComplete="off"
            spellCheck={false}
            className="font-mono text-[0.8125rem]"
            value={draft.baseUrl}
            placeholder={EXAMPLE_URLS[draft.kind]}
            onChange={(event) => onChange({ baseUrl: event.target.value.trim() })}
          />
        )}
      </Field>
      <Field
        label={t("field.secret")}
        hint={t(provider?.secretChangedAtMs == null ? "hint.secret" : "hint.secretKept")}
        error={fieldText(errors["secret"])}
      >
        {(attributes) => (
          <Input
            {...attributes}
            type="password"
            // Not a password of this site: the browser must not keep it.
            autoComplete="new-password"
            spellCheck={false}
            className="font-mono text-[0.8125rem]"
            value={draft.secret ?? ""}
            onChange={(event) => onChange({ secret: event.target.value })}
          />
        )}
      </Field>
    </>
  );
}

export function ProviderDrawer({ list, provider, onClose }: DrawerProps): ReactElement {
  const t = useTranslations("providers");
  const { draft, errors, change, state } = useFormSave<UpsertProviderInput, UpsertProviderInput>({
    initial: provider === null ? EMPTY : providerInputOf(provider),
    path: "/api/console/providers",
    stale: [queryKeys.providers],
    check: ({ secret = "", ...values }) => {
      // The same name would change the account that has it.
      const isTaken = provider === null && list.providers.some((one) => one.name === values.name.trim());
      const checked = checkBy(upsertProviderInput, secret === "" ? values : { ...values, secret });
      return alsoCheck(checked, isTaken ? { name: "name_taken" } : {});
    },
    saved: ({ name }) => t("saved", { name }),
    onClose,
  });

  return (
    <FormFrame
      {...state}
      shape="drawer"
      title={t(provider === null ? "createTitle" : "editTitle")}
      description={t("drawerLead")}
      submitLabel={t("save")}
    >
      <AddressFields draft={draft} provider={provider} errors={errors} onChange={change} />
      <Choice
        type="checkbox"
        label={t("field.isExternal")}
        hint={t("hint.isExternal")}
        checked={draft.isExternal ?? true}
        onChange={(event) => change({ isExternal: event.target.checked })}
      />
      <fieldset>
        <legend className="mb-1 text-[0.8125rem] font-medium">{t("field.billing")}</legend>
        {BILLING_MODES.map((mode) => (
          <Choice
            key={mode}
            type="radio"
            name="billing"
            label={t(`billing.${mode}`)}
            hint={t(`billingHint.${mode}`)}
            checked={draft.billingMode === mode}
            onChange={() => change({ billingMode: mode })}
          />
        ))}
      </fieldset>
      {provider === null ? null : (
        <Choice
          type="checkbox"
          label={t("field.disabled")}
          hint={t("hint.disabled", { count: provider.deployments.filter((one) => !one.disabled).length })}
          checked={draft.disabled ?? false}
          onChange={(event) => change({ disabled: event.target.checked })}
        />
      )}
    </FormFrame>
  );
}
