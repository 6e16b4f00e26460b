"use client";
import { TriangleAlert } from "lucide-react";
import { useLocale, useTranslations } from "next-intl";
import type { ReactElement } from "react";
import type { FieldErrors } from "@/components/format/checked";
import { amountOfMeter, percentText } from "@/components/format/money";
import { resetText, zoneText } from "@/components/format/time";
import { useFieldText } from "@/components/query/use-error-text";
import { Choice, Field, Input, Select } from "@/components/ui/field";
import { Notice } from "@/components/ui/notice";
import type { BudgetTree, BudgetView } from "@/lib/contracts/budgets";
import { PERIOD_KINDS } from "@/lib/domain/period";
import { ENFORCEMENTS, ENVIRONMENTS, METERS } from "@/lib/domain/snapshot";
import { meaningOf } from "./budget-draft";
import type { BudgetDraft } from "./budget-draft";
import { LimitMeaningNote } from "./limit-meaning";
import { useBudgetWords } from "./use-budget-words";

interface FormProps {
  readonly tree: BudgetTree;
  /** The node or key that the budget is of. */
  readonly nodeId: string;
  /** The budget being changed; null for a new one. */
  readonly budget: BudgetView | null;
  readonly draft: BudgetDraft;
  readonly errors: FieldErrors;
  readonly onChange: (change: Partial<BudgetDraft>) => void;
}

function useUnit(tree: BudgetTree, draft: BudgetDraft): string {
  const t = useTranslations("budgets");
  return draft.meter === "cost" ? tree.organisation.currency : t(`meters.${draft.meter}`);
}

/** Says in sentences what the draft would mean for the running period. */
function Preview({
  tree,
  budget,
  draft,
}: Pick<FormProps, "tree" | "draft"> & { readonly budget: BudgetView }): ReactElement | null {
  const t = useTranslations("budgets");
  const locale = useLocale();
  const words = useBudgetWords();
  const ladder = tree.ladders.find((one) => one.name === draft.ladder)?.ladder;
  const meaning = meaningOf(draft, budget, ladder);
  if (meaning === undefined) return null;
  const at = resetText(budget.period.endMs, locale, tree.organisation.timeZone);
  const amount = (value: bigint): string => amountOfMeter(value, draft.meter, locale);
  const percent = meaning.usedBasisPoints === null ? "–" : percentText(meaning.usedBasisPoints, locale);
  return (
    <section aria-live="polite" className="grid gap-2" data-testid="budget-preview">
      <h3 className="text-[0.8125rem] font-medium">{t("preview")}</h3>
      {meaning.countsOther ? (
        <Notice>{t("previewOther")}</Notice>
      ) : meaning.isBelowUse ? (
        <Notice tone="warn" icon={<TriangleAlert aria-hidden className="text-warn-ink" />}>
          {draft.enforcement === "enforce"
            ? t("previewBelow", { used: amount(meaning.used), at })
            : t("previewBelowSoft", { used: amount(meaning.used) })}
        </Notice>
      ) : (
        <Notice>
          <p>
            {meaning.usedBasisPoints === null
              ? t("previewZero")
              : meaning.rung === undefined
                ? t("previewStandsPlain", { percent })
                : t("previewStands", { percent, rung: words.rungName(meaning.rung.name) })}
          </p>
          {meaning.rung === undefined ? null : (
            <p className="text-[0.8125rem] text-soft">
              {t("previewEffect", { effect: words.rungEffect(meaning.rung) })}
            </p>
          )}
          <p className="text-[0.8125rem] text-soft">{t("previewLeft", { left: amount(meaning.left), at })}</p>
        </Notice>
      )}
    </section>
  );
}

function Filters({ tree, draft, errors, onChange }: Omit<FormProps, "budget" | "nodeId">): ReactElement {
  const t = useTranslations("budgets");
  const c = useTranslations("common");
  const l = useTranslations("ladders");
  const fieldText = useFieldText();
  const isOpen = draft.environment !== null || draft.models !== "" || draft.classes.length > 0;
  return (
    <details open={isOpen} className="rounded-lg border px-3.5 py-2.5">
      <summary className="rounded-sm text-[0.8125rem] font-medium">{t("field.filters")}</summary>
      <div className="mt-3 grid gap-4">
        <Field label={t("field.environment")}>
          {(attributes) => (
            <Select
              {...attributes}
              value={draft.environment ?? ""}
              onChange={(event) =>
                onChange({ environment: ENVIRONMENTS.find((one) => one === event.target.value) ?? null })
              }
            >
              <option value="">{c("any")}</option>
              {ENVIRONMENTS.map((one) => (
                <option key={one} value={one}>
                  {t(`environments.${one}`)}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <Field label={t("field.models")} hint={t("hint.models")} error={fieldText(errors["models"])}>
          {(attributes) => (
            <Input
              {...attributes}
              value={draft.models}
              placeholder={tree.models.slice(0, 2).join(", ")}
              onChange={(event) => onChange({ models: event.target.value })}
            />
          )}
        </Field>
        <fieldset>
          <legend className="text-[0.8125rem] font-medium">{t("field.classes")}</legend>
          <p className="text-xs text-soft">{t("hint.classes")}</p>
          <div className="mt-1 flex flex-wrap gap-x-5">
            {tree.classes.map((one) => (
              <Choice
                key={one}
                type="checkbox"
                label={l.has(`classes.${one as "core"}`) ? l(`classes.${one as "core"}`) : one}
                checked={draft.classes.includes(one)}
                onChange={(event) =>
                  onChange({
                    classes: event.target.checked
                      ? [...draft.classes, one]
                      : draft.classes.filter((other) => other !== one),
                  })
                }
              />
            ))}
          </div>
        </fieldset>
      </div>
    </details>
  );
}

function LadderField({ tree, draft, onChange }: Pick<FormProps, "tree" | "draft" | "onChange">): ReactElement {
  const t = useTranslations("budgets");
  const words = useBudgetWords();
  const ladder = tree.ladders.find((one) => one.name === draft.ladder)?.ladder;
  return (
    <div className="grid gap-2">
      <Field label={t("field.ladder")}>
        {(attributes) => (
          <Select
            {...attributes}
            value={draft.ladder ?? ""}
            onChange={(event) => onChange({ ladder: event.target.value === "" ? null : event.target.value })}
          >
            <option value="">{words.ladderName(null)}</option>
            {tree.ladders.map((one) => (
              <option key={one.name} value={one.name}>
                {words.ladderName(one.name)}
              </option>
            ))}
          </Select>
        )}
      </Field>
      {ladder === undefined ? null : (
        <ul className="grid gap-1 border-l-2 border-line pl-3 text-xs text-soft">
          {words.ladderLines(ladder).map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
      )}
    </div>
  );
}

function AmountFields({ tree, budget, draft, errors, onChange }: FormProps): ReactElement {
  const t = useTranslations("budgets");
  const locale = useLocale();
  const fieldText = useFieldText();
  const unit = useUnit(tree, draft);
  const { timeZone } = tree.organisation;
  return (
    <>
      <Field label={t("field.name")} error={fieldText(errors["name"])}>
        {(attributes) => (
          <Input
            {...attributes}
            value={draft.name}
            maxLength={80}
            onChange={(event) => onChange({ name: event.target.value })}
          />
        )}
      </Field>
      {budget === null ? (
        <Field label={t("field.meter")}>
          {(attributes) => (
            <Select
              {...attributes}
              value={draft.meter}
              onChange={(event) => onChange({ meter: METERS.find((one) => one === event.target.value) ?? "cost" })}
            >
              {METERS.map((one) => (
                <option key={one} value={one}>
                  {t(`meters.${one}`)}
                </option>
              ))}
            </Select>
          )}
        </Field>
      ) : null}
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label={t("field.amount", { unit })} error={fieldText(errors["limitAmount"])}>
          {(attributes) => (
            <Input
              {...attributes}
              inputMode="decimal"
              autoComplete="off"
              className="figures"
              value={draft.amount}
              onChange={(event) => onChange({ amount: event.target.value })}
            />
          )}
        </Field>
        <Field label={t("field.period")}>
          {(attributes) => (
            <Select
              {...attributes}
              value={draft.periodKind}
              onChange={(event) =>
                onChange({ periodKind: PERIOD_KINDS.find((one) => one === event.target.value) ?? "month" })
              }
            >
              {PERIOD_KINDS.map((one) => (
                <option key={one} value={one}>
                  {t(`periods.${one}`)}
                </option>
              ))}
            </Select>
          )}
        </Field>
      </div>
      {budget === null || budget.periodKind !== draft.periodKind ? null : (
        <p className="-mt-2 text-xs text-soft">
          {t("hint.month", {
            zone: zoneText(tree.readAtMs, timeZone),
            at: resetText(budget.period.endMs, locale, timeZone),
          })}
        </p>
      )}
    </>
  );
}

export function BudgetForm(props: FormProps): ReactElement {
  const { tree, budget, draft, errors, onChange } = props;
  const t = useTranslations("budgets");
  const fieldText = useFieldText();
  const unit = useUnit(tree, draft);
  return (
    <div className="grid gap-5">
      <AmountFields {...props} />
      <LimitMeaningNote tree={tree} nodeId={props.nodeId} budget={budget} draft={draft} />
      {budget === null ? null : <Preview tree={tree} budget={budget} draft={draft} />}
      <LadderField tree={tree} draft={draft} onChange={onChange} />
      <fieldset>
        <legend className="mb-1 text-[0.8125rem] font-medium">{t("field.enforcement")}</legend>
        {ENFORCEMENTS.map((one) => (
          <Choice
            key={one}
            type="radio"
            name="enforcement"
            label={t(`enforcementShort.${one}`)}
            hint={t(`enforcementHint.${one}`)}
            checked={draft.enforcement === one}
            onChange={() => onChange({ enforcement: one })}
          />
        ))}
      </fieldset>
      <Field
        label={t("field.overflow", { unit })}
        hint={t("hint.overflow")}
        error={fieldText(errors["overflowAmount"])}
      >
        {(attributes) => (
          <Input
            {...attributes}
            inputMode="decimal"
            autoComplete="off"
            className="figures"
            value={draft.overflow}
            onChange={(event) => onChange({ overflow: event.target.value })}
          />
        )}
      </Field>
      <Filters tree={tree} draft={draft} errors={errors} onChange={onChange} />
      {budget === null ? (
        <Choice
          type="checkbox"
          label={t("field.perEndUser")}
          hint={t("hint.perEndUser")}
          checked={draft.perEndUser}
          onChange={(event) => onChange({ perEndUser: event.target.checked })}
        />
      ) : null}
    </div>
  );
}
