"use client";
import { useTranslations } from "next-intl";
import { useState } from "react";
import type { ReactElement } from "react";
import { toast } from "sonner";
import { FormDrawer } from "@/components/query/form-drawer";
import { queryKeys } from "@/components/query/keys";
import { useConsoleWrite } from "@/components/query/use-console-write";
import { fieldErrorsOf, useFieldText } from "@/components/query/use-error-text";
import { Choice, Field, Input, Select } from "@/components/ui/field";
import type { DeploymentView, ProviderList, ProviderView } from "@/lib/contracts/models";
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
  const write = useConsoleWrite(queryKeys.providers);
  const [draft, setDraft] = useState(() =>
    deployment === null ? emptyDraft(list.models[0]?.id ?? "") : draftOf(deployment),
  );
  const [errors, setErrors] = useState<Readonly<Record<string, string>>>({});
  const onChange = (change: Partial<DeploymentDraft>): void => setDraft((before) => ({ ...before, ...change }));
  const fields = { draft, errors, onChange };
  const isFixed = deployment !== null;

  function submit(): void {
    const checked = toInput(draft, provider.id);
    const isTaken = provider.deployments.some(
      (one) => one.modelId === draft.modelId && one.upstreamModel === draft.upstreamModel.trim(),
    );
    if (!checked.ok || (deployment === null && isTaken)) {
      setErrors({
        ...(checked.ok ? {} : checked.errors),
        ...(!isFixed && isTaken ? { upstreamModel: "name_taken" } : {}),
      });
      return;
    }
    setErrors({});
    write.mutate(
      { path: "/api/console/deployments", method: "POST", body: checked.input },
      {
        onSuccess: () => {
          toast.success(t("saved"));
          onClose();
        },
        onError: (error) => setErrors(fieldErrorsOf(error)),
      },
    );
  }

  return (
    <FormDrawer
      title={t(isFixed ? "editTitle" : "createTitle")}
      description={provider.name}
      submitLabel={t("save")}
      isPending={write.isPending}
      error={write.error}
      errors={errors}
      onSubmit={submit}
      onClose={onClose}
    >
      <Field label={t("field.model")} hint={t("hint.model")} error={fieldText(errors["modelId"])}>
        {(attributes) => (
          <Select
            {...attributes}
            value={draft.modelId}
            disabled={isFixed}
            onChange={(event) => onChange({ modelId: event.target.value })}
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
          onChange={(event) => onChange({ disabled: event.target.checked })}
        />
      ) : null}
    </FormDrawer>
  );
}
