"use client";
import { useLocale, useTranslations } from "next-intl";
import { useState } from "react";
import type { ReactElement } from "react";
import { checkBy } from "@/components/format/checked";
import type { FieldErrors } from "@/components/format/checked";
import { dateText } from "@/components/format/time";
import { FormFrame } from "@/components/query/form-frame";
import { fieldErrorsOf, useFieldText } from "@/components/query/use-error-text";
import { Choice, Field, Input, Select, Textarea } from "@/components/ui/field";
import { Notice } from "@/components/ui/notice";
import { createApiKeyInput } from "@/lib/contracts/keys";
import type { ApiKeyList } from "@/lib/contracts/keys";
import { KEY_SCOPES } from "@/lib/domain/key-scopes";
import type { KeyScope } from "@/lib/domain/key-scopes";
import { ENVIRONMENTS } from "@/lib/domain/snapshot";
import { useSecretWrite } from "./use-keys";

interface CreateProps {
  readonly list: ApiKeyList;
  readonly onClose: () => void;
  readonly onSecret: (secret: string) => void;
}

const DAY_MS = 86_400_000;
const EXPIRY_DAYS = [30, 90, 180, 365, 0] as const;
const DEFAULT_EXPIRY_DAYS = 90;

interface Draft {
  readonly appId: string;
  readonly name: string;
  readonly environment: "production" | "test";
  readonly trafficClass: string;
  readonly expiryDays: number;
  readonly ips: string;
  readonly scopes: readonly KeyScope[];
}

function useClassName(): (name: string) => string {
  const l = useTranslations("ladders");
  return (name) => (l.has(`classes.${name as "core"}`) ? l(`classes.${name as "core"}`) : name);
}

function MainFields({
  list,
  draft,
  errors,
  onChange,
}: {
  readonly list: ApiKeyList;
  readonly draft: Draft;
  readonly errors: FieldErrors;
  readonly onChange: (change: Partial<Draft>) => void;
}): ReactElement {
  const t = useTranslations("keys");
  const b = useTranslations("budgets");
  const fieldText = useFieldText();
  const className = useClassName();
  return (
    <>
      <Field label={t("field.app")} hint={t("hint.app")} error={fieldText(errors["appId"])}>
        {(attributes) => (
          <Select {...attributes} value={draft.appId} onChange={(event) => onChange({ appId: event.target.value })}>
            {list.apps.map((app) => (
              <option key={app.id} value={app.id}>
                {app.path.slice(1).join(" / ")}
              </option>
            ))}
          </Select>
        )}
      </Field>
      <Field label={t("field.name")} hint={t("hint.name")} error={fieldText(errors["name"])}>
        {(attributes) => (
          <Input
            {...attributes}
            value={draft.name}
            maxLength={80}
            autoComplete="off"
            onChange={(event) => onChange({ name: event.target.value })}
          />
        )}
      </Field>
      <fieldset>
        <legend className="mb-1 text-[0.8125rem] font-medium">{t("field.environment")}</legend>
        {ENVIRONMENTS.map((one) => (
          <Choice
            key={one}
            type="radio"
            name="environment"
            label={b(`environments.${one}`)}
            hint={t(`hint.${one}`)}
            checked={draft.environment === one}
            onChange={() => onChange({ environment: one })}
          />
        ))}
      </fieldset>
      <Field label={t("field.class")} hint={t("hint.class")} error={fieldText(errors["trafficClass"])}>
        {(attributes) => (
          <Select
            {...attributes}
            value={draft.trafficClass}
            onChange={(event) => onChange({ trafficClass: event.target.value })}
          >
            {list.classes.map((one) => (
              <option key={one} value={one}>
                {className(one)}
              </option>
            ))}
          </Select>
        )}
      </Field>
    </>
  );
}

function ScopeFields({
  chosen,
  onChange,
}: {
  readonly chosen: readonly KeyScope[];
  readonly onChange: (scopes: readonly KeyScope[]) => void;
}): ReactElement {
  const t = useTranslations("keys");
  return (
    <fieldset aria-describedby="key-scopes-hint">
      <legend className="mb-1 text-[0.8125rem] font-medium">{t("field.scopes")}</legend>
      <div className="grid grid-cols-2 gap-x-4">
        {KEY_SCOPES.map((scope) => (
          <Choice
            key={scope}
            type="checkbox"
            label={t(`scopes.${scope}`)}
            checked={chosen.includes(scope)}
            onChange={(event) =>
              onChange(event.target.checked ? [...chosen, scope] : chosen.filter((one) => one !== scope))
            }
          />
        ))}
      </div>
      <p id="key-scopes-hint" className="mt-1 text-xs text-soft">
        {t("hint.scopes")}
      </p>
    </fieldset>
  );
}

export function CreateKeyDrawer({ list, onClose, onSecret }: CreateProps): ReactElement {
  const t = useTranslations("keys");
  const b = useTranslations("budgets");
  const locale = useLocale();
  const fieldText = useFieldText();
  const className = useClassName();
  const write = useSecretWrite();
  const [openedMs] = useState(() => Date.now());
  const [errors, setErrors] = useState<FieldErrors>({});
  const [draft, setDraft] = useState<Draft>({
    appId: list.apps[0]?.id ?? "",
    name: "",
    environment: "production",
    trafficClass: "general",
    expiryDays: DEFAULT_EXPIRY_DAYS,
    ips: "",
    scopes: [],
  });
  const onChange = (change: Partial<Draft>): void => setDraft((before) => ({ ...before, ...change }));
  const expiresAtMs = draft.expiryDays === 0 ? null : openedMs + draft.expiryDays * DAY_MS;

  function submit(): void {
    const { expiryDays: _days, ips, ...values } = draft;
    const allowedIps = ips.split(/[\s,，]+/u).filter((part) => part !== "");
    const checked = checkBy(createApiKeyInput, { ...values, entitledClasses: [], expiresAtMs, allowedIps });
    setErrors(checked.ok ? {} : checked.errors);
    if (!checked.ok) return;
    write.mutate(
      { kind: "create", input: checked.input },
      {
        onSuccess: (result) => onSecret(result.secret),
        onError: (error) => setErrors(fieldErrorsOf(error)),
      },
    );
  }

  const app = list.apps.find((one) => one.id === draft.appId);
  return (
    <FormFrame
      shape="drawer"
      title={t("createTitle")}
      description={t("createLead")}
      submitLabel={t("createAction")}
      pendingLabel={t("creating")}
      isPending={write.isPending}
      error={write.error}
      errors={errors}
      onSubmit={submit}
      onClose={onClose}
    >
      <MainFields list={list} draft={draft} errors={errors} onChange={onChange} />
      <Field label={t("field.expiry")} error={fieldText(errors["expiresAtMs"])}>
        {(attributes) => (
          <Select
            {...attributes}
            value={draft.expiryDays}
            onChange={(event) => onChange({ expiryDays: Number(event.target.value) })}
          >
            {EXPIRY_DAYS.map((days) => (
              <option key={days} value={days}>
                {days === 0
                  ? t("never")
                  : t("inDays", {
                      days,
                      date: dateText(openedMs + days * DAY_MS, locale, list.organisation.timeZone),
                    })}
              </option>
            ))}
          </Select>
        )}
      </Field>
      <Field label={t("field.ips")} hint={t("hint.ips")} error={fieldText(errors["allowedIps"])}>
        {(attributes) => (
          <Textarea
            {...attributes}
            className="font-mono text-[0.8125rem]"
            value={draft.ips}
            placeholder="10.0.0.0/8"
            onChange={(event) => onChange({ ips: event.target.value })}
          />
        )}
      </Field>
      <ScopeFields chosen={draft.scopes} onChange={(scopes) => onChange({ scopes })} />
      <Notice>
        {t(expiresAtMs === null ? "summaryForever" : "summary", {
          app: app?.name ?? "–",
          environment: b(`environments.${draft.environment}`),
          class: className(draft.trafficClass),
          date: expiresAtMs === null ? "" : dateText(expiresAtMs, locale, list.organisation.timeZone),
        })}
      </Notice>
    </FormFrame>
  );
}
