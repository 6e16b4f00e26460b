"use client";
import { Plus, Trash2 } from "lucide-react";
import { useTranslations } from "next-intl";
import type { ReactElement } from "react";
import { useFieldText } from "@/components/query/use-error-text";
import { Button } from "@/components/ui/button";
import { Field, Input, Select } from "@/components/ui/field";
import { ACTION_KINDS } from "@/lib/domain/policy";
import { actionOf, errorPath, OTHERS } from "./ladder-draft";
import type { ActionDraft, LadderDraft, RungDraft } from "./ladder-draft";
import { useLadderWords } from "./use-ladder-words";

interface RungProps {
  readonly ladder: LadderDraft;
  readonly index: number;
  readonly rung: RungDraft;
  readonly classes: readonly string[];
  readonly showsCache: boolean;
  readonly errors: Readonly<Record<string, string>>;
  readonly onChange: (rung: RungDraft) => void;
  readonly onAddAbove: () => void;
  /** null: the last one stays. */
  readonly onRemove: (() => void) | null;
}

interface ActionFieldsProps extends Pick<
  RungProps,
  "ladder" | "index" | "rung" | "errors" | "showsCache" | "onChange"
> {
  readonly trafficClass: string;
}

const WITH_CACHE = ["pass", "downgrade", "cache_only"];

/** What one class gets from this rung on. */
function ActionFields(props: ActionFieldsProps): ReactElement {
  const { ladder, index, rung, errors, showsCache, trafficClass, onChange } = props;
  const t = useTranslations("ladderForm");
  const fieldText = useFieldText();
  const words = useLadderWords();
  const action = actionOf(rung, trafficClass);
  const error = (name: string): string | undefined =>
    fieldText(errors[errorPath(ladder, `rungs.${String(index)}.actions.${trafficClass}${name}`)]);
  const change = (part: Partial<ActionDraft>): void =>
    onChange({ ...rung, actions: { ...rung.actions, [trafficClass]: { ...action, ...part } } });
  return (
    <div className="grid content-start gap-2">
      <Field label={trafficClass === OTHERS ? t("others") : words.className(trafficClass)} error={error("")}>
        {(attributes) => (
          <Select
            {...attributes}
            value={action.kind}
            data-class={trafficClass}
            onChange={(event) => change({ kind: ACTION_KINDS.find((one) => one === event.target.value) ?? "" })}
          >
            {trafficClass === OTHERS && action.kind !== "" ? null : <option value="">{t("asOthers")}</option>}
            {ACTION_KINDS.map((kind) => (
              <option key={kind} value={kind}>
                {t(`actions.${kind}`)}
              </option>
            ))}
          </Select>
        )}
      </Field>
      {action.kind === "protect" ? (
        <Field label={t("retryAfter")} error={error(".retryAfterSeconds")}>
          {(attributes) => (
            <Input
              {...attributes}
              inputMode="numeric"
              className="figures"
              value={action.retryAfterSeconds}
              onChange={(event) => change({ retryAfterSeconds: event.target.value })}
            />
          )}
        </Field>
      ) : null}
      {showsCache && WITH_CACHE.includes(action.kind) ? (
        <Field label={t("cacheThreshold")} error={error(".cacheThreshold")}>
          {(attributes) => (
            <Input
              {...attributes}
              inputMode="decimal"
              className="figures"
              value={action.cacheThreshold}
              onChange={(event) => change({ cacheThreshold: event.target.value })}
            />
          )}
        </Field>
      ) : null}
    </div>
  );
}

/** One rung: from when it holds, what it is called, and what each class gets. */
export function RungFields(props: RungProps): ReactElement {
  const { ladder, index, rung, classes, errors, onChange, onAddAbove, onRemove } = props;
  const t = useTranslations("ladderForm");
  const fieldText = useFieldText();
  const path = (name: string): string => errorPath(ladder, `rungs.${String(index)}.${name}`);
  const number = index + 1;
  return (
    <fieldset className="min-w-0 border-t py-3" data-rung={rung.at}>
      <legend className="float-left mb-2 text-[0.8125rem] font-medium">{t("rung", { number })}</legend>
      <div className="-mt-1 flex justify-end gap-1">
        <Button variant="ghost" size="sm" onClick={onAddAbove}>
          <Plus aria-hidden /> {t("addRung")}
        </Button>
        <Button
          variant="ghost"
          size="iconSm"
          aria-label={t("removeRung", { number })}
          disabled={onRemove === null}
          onClick={() => onRemove?.()}
        >
          <Trash2 aria-hidden />
        </Button>
      </div>
      <div className="clear-both grid gap-3 sm:grid-cols-3">
        <Field label={t("at")} error={fieldText(errors[path("atBasisPoints")])}>
          {(attributes) => (
            <Input
              {...attributes}
              inputMode="decimal"
              autoComplete="off"
              className="figures"
              value={rung.at}
              onChange={(event) => onChange({ ...rung, at: event.target.value })}
            />
          )}
        </Field>
        <Field label={t("rungName")} error={fieldText(errors[path("name")])} className="sm:col-span-2">
          {(attributes) => (
            <Input
              {...attributes}
              autoComplete="off"
              maxLength={40}
              value={rung.name}
              onChange={(event) => onChange({ ...rung, name: event.target.value })}
            />
          )}
        </Field>
        {[...classes, OTHERS].map((trafficClass) => (
          <ActionFields key={trafficClass} {...props} trafficClass={trafficClass} />
        ))}
      </div>
      {errors[path("actions")] === undefined ? null : (
        <p className="mt-2 text-[0.8125rem] font-medium text-danger">{fieldText(errors[path("actions")])}</p>
      )}
    </fieldset>
  );
}
