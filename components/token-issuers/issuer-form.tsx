"use client";
import { useTranslations } from "next-intl";
import type { ReactElement } from "react";
import { useFieldText } from "@/components/query/use-error-text";
import { Choice, Field, Input, Select, Textarea } from "@/components/ui/field";
import { SIGNATURE_ALGORITHMS } from "@/lib/contracts/token-issuers";
import type { TokenIssuerList, TokenIssuerView } from "@/lib/contracts/token-issuers";
import { ENVIRONMENTS } from "@/lib/domain/snapshot";
import { ConsumerMapping } from "./consumer-mapping";
import type { IssuerDraft } from "./issuer-draft";

interface FormProps {
  readonly list: TokenIssuerList;
  readonly issuer: TokenIssuerView | null;
  readonly draft: IssuerDraft;
  readonly errors: Readonly<Record<string, string>>;
  readonly onChange: (change: Partial<IssuerDraft>) => void;
}

type TextName =
  | "name"
  | "issuer"
  | "endpoint"
  | "clientId"
  | "clientSecret"
  | "tokenPrefix"
  | "tolerance"
  | "consumerClaim"
  | "userClaim"
  | "scopesClaim";

type LabelName = Exclude<TextName, "endpoint"> | "jwksUrl" | "introspectionUrl";
type HintName = LabelName | "nameFixed" | "clientSecretKept";

interface TextProps extends Pick<FormProps, "draft" | "errors" | "onChange"> {
  readonly name: TextName;
  /** Of the message, where it is not the field's own. */
  readonly label?: LabelName;
  readonly hint?: HintName;
  readonly isFixed?: boolean;
}

function Text({
  name,
  label = name as LabelName,
  hint = label,
  draft,
  errors,
  onChange,
  isFixed = false,
}: TextProps): ReactElement {
  const t = useTranslations("issuers");
  const fieldText = useFieldText();
  return (
    <Field label={t(`field.${label}`)} hint={t(`hint.${hint}`)} error={fieldText(errors[name])}>
      {(attributes) => (
        <Input
          {...attributes}
          type={name === "clientSecret" ? "password" : "text"}
          // Not a password of this site: the browser must not keep it.
          autoComplete={name === "clientSecret" ? "new-password" : "off"}
          inputMode={name === "tolerance" ? "numeric" : "text"}
          spellCheck={false}
          className={name === "name" || name === "tolerance" ? "" : "font-mono text-[0.8125rem]"}
          value={draft[name]}
          disabled={isFixed}
          onChange={(event) => onChange({ [name]: event.target.value })}
        />
      )}
    </Field>
  );
}

function Proof({ issuer, ...props }: FormProps): ReactElement {
  const { draft, errors, onChange } = props;
  const t = useTranslations("issuers");
  const fieldText = useFieldText();
  const fields = { draft, errors, onChange };
  if (draft.kind === "jwks") {
    return (
      <>
        <Text {...fields} name="endpoint" label="jwksUrl" />
        <details className="rounded-lg border px-3.5 py-2.5">
          <summary className="rounded-sm text-[0.8125rem] font-medium">
            {t("algorithms", { names: draft.algorithms.join(", ") })}
          </summary>
          <div className="mt-2 grid grid-cols-2 gap-x-4 sm:grid-cols-3">
            {SIGNATURE_ALGORITHMS.map((name) => (
              <Choice
                key={name}
                type="checkbox"
                label={name}
                checked={draft.algorithms.includes(name)}
                onChange={(event) =>
                  onChange({
                    algorithms: event.target.checked
                      ? [...draft.algorithms, name]
                      : draft.algorithms.filter((one) => one !== name),
                  })
                }
              />
            ))}
          </div>
          {errors["algorithms"] === undefined ? null : (
            <p className="text-[0.8125rem] font-medium text-danger">{fieldText(errors["algorithms"])}</p>
          )}
        </details>
      </>
    );
  }
  return (
    <>
      <Text {...fields} name="endpoint" label="introspectionUrl" />
      <div className="grid gap-4 sm:grid-cols-2">
        <Text {...fields} name="clientId" />
        <Text
          {...fields}
          name="clientSecret"
          hint={issuer?.secretChangedAtMs == null ? "clientSecret" : "clientSecretKept"}
        />
      </div>
      <Text {...fields} name="tokenPrefix" />
    </>
  );
}

function Use({ list, draft, errors, onChange }: FormProps): ReactElement {
  const t = useTranslations("issuers");
  const b = useTranslations("budgets");
  const l = useTranslations("ladders");
  const fieldText = useFieldText();
  const className = (name: string): string =>
    l.has(`classes.${name as "core"}`) ? l(`classes.${name as "core"}`) : name;
  return (
    <>
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label={t("field.environment")} hint={t("hint.environment")}>
          {(attributes) => (
            <Select
              {...attributes}
              value={draft.environment}
              onChange={(event) =>
                onChange({ environment: ENVIRONMENTS.find((one) => one === event.target.value) ?? "production" })
              }
            >
              {ENVIRONMENTS.map((one) => (
                <option key={one} value={one}>
                  {b(`environments.${one}`)}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <Field label={t("field.class")} hint={t("hint.class")} error={fieldText(errors["trafficClass"])}>
          {(attributes) => (
            <Select
              {...attributes}
              value={draft.trafficClass}
              onChange={(event) => onChange({ trafficClass: event.target.value })}
            >
              {[...new Set([...list.classes, draft.trafficClass])].map((one) => (
                <option key={one} value={one}>
                  {className(one)}
                </option>
              ))}
            </Select>
          )}
        </Field>
      </div>
      <fieldset>
        <legend className="text-[0.8125rem] font-medium">{t("field.entitled")}</legend>
        <p className="text-xs text-soft">{t("hint.entitled")}</p>
        <div className="mt-1 flex flex-wrap gap-x-5">
          {[...new Set([...list.classes, ...draft.entitledClasses])].map((one) => (
            <Choice
              key={one}
              type="checkbox"
              label={className(one)}
              checked={draft.entitledClasses.includes(one)}
              onChange={(event) =>
                onChange({
                  entitledClasses: event.target.checked
                    ? [...draft.entitledClasses, one]
                    : draft.entitledClasses.filter((other) => other !== one),
                })
              }
            />
          ))}
        </div>
      </fieldset>
    </>
  );
}

export function IssuerForm(props: FormProps): ReactElement {
  const { list, issuer, draft, errors, onChange } = props;
  const t = useTranslations("issuers");
  const fieldText = useFieldText();
  const fields = { draft, errors, onChange };
  return (
    <>
      <Text {...fields} name="name" hint={issuer === null ? "name" : "nameFixed"} isFixed={issuer !== null} />
      <fieldset>
        <legend className="mb-1 text-[0.8125rem] font-medium">{t("field.kind")}</legend>
        {(["jwks", "introspection"] as const).map((kind) => (
          <Choice
            key={kind}
            type="radio"
            name="kind"
            label={t(`kinds.${kind}`)}
            hint={t(`kindHint.${kind}`)}
            checked={draft.kind === kind}
            onChange={() => onChange({ kind })}
          />
        ))}
      </fieldset>
      <Text {...fields} name="issuer" />
      <Field label={t("field.audiences")} hint={t("hint.audiences")} error={fieldText(errors["audiences"])}>
        {(attributes) => (
          <Textarea
            {...attributes}
            rows={2}
            spellCheck={false}
            className="font-mono text-[0.8125rem]"
            value={draft.audiences}
            onChange={(event) => onChange({ audiences: event.target.value })}
          />
        )}
      </Field>
      <Proof {...props} />
      <Text {...fields} name="consumerClaim" />
      <ConsumerMapping list={list} draft={draft} error={errors["consumers"]} onChange={onChange} />
      <div className="grid gap-4 sm:grid-cols-2">
        <Text {...fields} name="userClaim" />
        <Text {...fields} name="scopesClaim" />
      </div>
      <Use {...props} />
      <Text {...fields} name="tolerance" />
      {issuer === null ? null : (
        <Choice
          type="checkbox"
          label={t("field.disabled")}
          hint={t("hint.disabled")}
          checked={draft.disabled}
          onChange={(event) => onChange({ disabled: event.target.checked })}
        />
      )}
    </>
  );
}
