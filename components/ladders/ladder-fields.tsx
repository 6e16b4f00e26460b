"use client";
import { Trash2 } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import type { ReactElement } from "react";
import { useBudgetWords } from "@/components/budgets/use-budget-words";
import { useFieldText } from "@/components/query/use-error-text";
import { Button } from "@/components/ui/button";
import { Choice, Field, Input, Select } from "@/components/ui/field";
import { Notice } from "@/components/ui/notice";
import type { PolicyDocument } from "@/lib/domain/policy";
import { addedRung, classesOf, errorPath } from "./ladder-draft";
import type { LadderDraft } from "./ladder-draft";
import { LadderStages } from "./ladder-stages";
import { RungFields } from "./rung-fields";

interface LadderProps {
  readonly ladder: LadderDraft;
  /** Budgets that name it. */
  readonly uses: number;
  readonly document: PolicyDocument | null;
  readonly models: readonly string[];
  readonly errors: Readonly<Record<string, string>>;
  readonly onChange: (ladder: LadderDraft) => void;
  readonly onRemove: () => void;
}

const OVERFLOWS = ["all", "vip", "none"] as const;

function hasCache(ladder: LadderDraft): boolean {
  return ladder.rungs.some((rung) => Object.values(rung.actions).some((action) => action.cacheThreshold !== ""));
}

function Head({ ladder, errors, onChange }: Pick<LadderProps, "ladder" | "errors" | "onChange">): ReactElement {
  const t = useTranslations("ladderForm");
  const fieldText = useFieldText();
  return (
    <div className="grid gap-3 pb-3 sm:grid-cols-2">
      {ladder.isNew ? (
        <Field label={t("name")} hint={t("nameHint")} error={fieldText(errors[errorPath(ladder, "name")])}>
          {(attributes) => (
            <Input
              {...attributes}
              autoComplete="off"
              maxLength={60}
              value={ladder.name}
              onChange={(event) => onChange({ ...ladder, name: event.target.value })}
            />
          )}
        </Field>
      ) : null}
      <Field label={t("overflow")}>
        {(attributes) => (
          <Select
            {...attributes}
            value={ladder.overflow}
            onChange={(event) =>
              onChange({
                ...ladder,
                overflow: OVERFLOWS.find((one) => one === event.target.value) ?? "none",
              })
            }
          >
            {OVERFLOWS.map((one) => (
              <option key={one} value={one}>
                {t(`overflowKinds.${one}`)}
              </option>
            ))}
          </Select>
        )}
      </Field>
    </div>
  );
}

/** One ladder: its rungs as fields, and what they come to in sentences. Closed, it names its marks. */
export function LadderFields({
  ladder,
  uses,
  document,
  models,
  errors,
  onChange,
  onRemove,
}: LadderProps): ReactElement {
  const t = useTranslations("ladderForm");
  const words = useBudgetWords();
  const [showsCache, setShowsCache] = useState(() => hasCache(ladder));
  // A fault opens it; what the person opened stays open when the fault is mended.
  const [isOpen, setOpen] = useState(ladder.isNew);
  const isWrong = Object.keys(errors).some((path) => path.startsWith(errorPath(ladder, "")));
  const marks = ladder.rungs.map((rung) => `${rung.at}%`).join(" · ");
  return (
    <details
      className="rounded-lg border px-3.5 py-2.5"
      data-ladder={ladder.name}
      open={isOpen || isWrong}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary className="rounded-sm py-0.5 text-[0.8125rem] max-md:py-2.5">
        <span className="font-semibold">{words.ladderName(ladder.name)}</span>
        <span className="figures ml-2 text-xs text-soft">{marks}</span>
        <span className="ml-2 text-xs text-soft">{t("inUse", { count: uses })}</span>
      </summary>
      <div className="pt-3">
        <Head ladder={ladder} errors={errors} onChange={onChange} />
        {ladder.rungs.map((rung, index) => (
          <RungFields
            key={rung.key}
            {...{ ladder, index, rung, errors, showsCache }}
            classes={classesOf(ladder.rungs)}
            onChange={(changed) =>
              onChange({ ...ladder, rungs: ladder.rungs.map((one) => (one.key === rung.key ? changed : one)) })
            }
            onAddAbove={() => onChange(addedRung(ladder, index))}
            onRemove={
              ladder.rungs.length === 1
                ? null
                : () => onChange({ ...ladder, rungs: ladder.rungs.filter((one) => one.key !== rung.key) })
            }
          />
        ))}
        <LadderStages document={document} ladderName={ladder.name.trim()} models={models} />
        <div className="mt-3 flex flex-wrap items-center justify-between gap-2">
          <Choice
            type="checkbox"
            label={t("showCache")}
            checked={showsCache}
            onChange={(event) => setShowsCache(event.target.checked)}
          />
          <Button variant="dangerGhost" size="sm" onClick={onRemove}>
            <Trash2 aria-hidden /> {t("remove")}
          </Button>
        </div>
        {uses === 0 ? null : <Notice className="mt-2 text-[0.8125rem]">{t("removeInUse", { count: uses })}</Notice>}
      </div>
    </details>
  );
}
