"use client";
import { useTranslations } from "next-intl";
import type { ReactElement } from "react";
import { alsoCheck } from "@/components/format/checked";
import { FormFrame } from "@/components/query/form-frame";
import { queryKeys } from "@/components/query/keys";
import { useFieldText } from "@/components/query/use-error-text";
import { useFormSave } from "@/components/query/use-form-save";
import { Choice, Field, Input, Select } from "@/components/ui/field";
import type { DeploymentView, ProviderList, ProviderView, UpsertDeploymentInput } from "@/lib/contracts/models";
import { draftOf, emptyDraft, STEP_TIMEOUTS, toInput } from "./deployment-draft";
import type { DeploymentDraft } from "./deployment-draft";

interface DrawerProps {
  readonly list: ProviderList;
  readonly provider: ProviderView;
  readonly deployment: DeploymentView | null;
  readonly onClose: () => void;
}

interface FieldsProps {
  readonly draft: DeploymentDraft;
  readonly errors: Readonly<Record<string, string>>;
  readonly onChange: (change: Partial<DeploymentDraft>) => void;
}

type TextField = Exclude<keyof DeploymentDraft, "disabled" | "modelId">;

function TextInput({
  name,
  field,
  draft,
  errors,
  onChange,
  isFixed = false,
}: FieldsProps & { readonly name: TextField; readonly field: string; readonly isFixed?: boolean }): ReactElement {
  const t = useTranslations("deployments");
  const fieldText = useFieldText();
  const isText = name === "upstreamModel" || name === "region";
  return (
    <Field label={t(`field.${name}`)} hint={t(`hint.${name}`)} error={fieldText(errors[field])}>
      {(attributes) => (
        <Input
          {...attributes}
          inputMode={isText ? "text" : "decimal"}
          autoComplete="off"
          spellCheck={false}
          className={isText ? "font-mono text-[0.8125rem]" : "figures"}
          value={draft[name]}
          disabled={isFixed}
          onChange={(event) => onChange({ [name]: event.target.value })}
        />
      )}
    </Field>
  );
}

function Timeouts(props: FieldsProps): ReactElement {
  const t = useTranslations("deployments");
  const isSet = Object.keys(STEP_TIMEOUTS).some((name) => props.draft[name as keyof typeof STEP_TIMEOUTS] !== "");
  return (
    <details open={isSet} className="rounded-lg border px-3.5 py-2.5">
      <summary className="rounded-sm text-[0.8125rem] font-medium">{t("steps")}</summary>
      <div className="mt-3 grid gap-4">
        {Object.entries(STEP_TIMEOUTS).map(([name, field]) => (
          <TextInput key={name} {...props} name={name as keyof typeof STEP_TIMEOUTS} field={field} />
        ))}
      </div>
    </details>
  );
}

export function DeploymentDrawer({ list, provider, deployment, onClose }: DrawerProps): ReactElement {
  const t = useTranslations("deployments");
  const fieldText = useFieldText();
  const isFixed = deployment !== null;
  const { draft, errors, change, state } = useFormSave<DeploymentDraft, UpsertDeploymentInput>({
    initial: () => (deployment === null ? emptyDraft(list.models[0]?.id ?? "") : draftOf(deployment)),
    path: "/api/console/deployments",
    stale: [queryKeys.providers],
    check: (typed) => {
      const isTaken =
        !isFixed &&
        provider.deployments.some(
          (one) => one.modelId === typed.modelId && one.upstreamModel === typed.upstreamModel.trim(),
        );
      return alsoCheck(toInput(typed, provider.id), isTaken ? { upstreamModel: "name_taken" } : {});
    },
    saved: () => t("saved"),
    onClose,
  });
  const fields = { draft, errors, onChange: change };
  return (
    <FormFrame
      {...state}
      shape="drawer"
      title={t(isFixed ? "editTitle" : "createTitle")}
      description={provider.name}
      submitLabel={t("save")}
    >
      <Field label={t("field.model")} hint={t("hint.model")} error={fieldText(errors["modelId"])}>
        {(attributes) => (
          <Select
            {...attributes}
            value={draft.modelId}
            disabled={isFixed}
            onChange={(event) => change({ modelId: event.target.value })}
          >
            {list.models.map((model) => (
              <option key={model.id} value={model.id}>
                {model.name}
              </option>
            ))}
          </Select>
        )}
      </Field>
      <TextInput {...fields} name="upstreamModel" field="upstreamModel" isFixed={isFixed} />
      <div className="grid gap-4 sm:grid-cols-2">
        <TextInput {...fields} name="priority" field="priority" />
        <TextInput {...fields} name="weight" field="weight" />
      </div>
      <TextInput {...fields} name="region" field="region" />
      <TextInput {...fields} name="timeout" field="timeoutMs" />
      <Timeouts {...fields} />
      {isFixed ? (
        <Choice
          type="checkbox"
          label={t("field.disabled")}
          hint={t("hint.disabled")}
          checked={draft.disabled}
          onChange={(event) => change({ disabled: event.target.checked })}
        />
      ) : null}
    </FormFrame>
  );
}
