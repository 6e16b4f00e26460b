"use client";
import { useTranslations } from "next-intl";
import { useState } from "react";
import type { ReactElement } from "react";
import { Choice, Select } from "@/components/ui/field";
import { Notice } from "@/components/ui/notice";
import { downgradeTarget, mergePolicies } from "@/lib/domain/policy";
import type { PolicyDocument } from "@/lib/domain/policy";
import { classesOf } from "./ladder-draft";
import { findingsOf, stagesOf } from "./ladder-preview";
import { useLadderWords } from "./use-ladder-words";

interface StagesProps {
  /** null: a field is wrong, and nothing can be worked out. */
  readonly document: PolicyDocument | null;
  readonly ladderName: string;
  /** Models that the organisation serves. */
  readonly models: readonly string[];
}

/** A model that shows most: one that a downgrade changes. */
function tellingModel(document: PolicyDocument | null, models: readonly string[]): string {
  const policy = mergePolicies(document === null ? [] : [document]);
  const mapped = models.find((model) => models.includes(downgradeTarget(policy, model) ?? ""));
  return mapped ?? models[0] ?? "gpt-4o";
}

/** What each class gets as its budget fills, in sentences, and what is likely no intention. */
export function LadderStages({ document, ladderName, models }: StagesProps): ReactElement {
  const t = useTranslations("ladderForm");
  const words = useLadderWords();
  const [chosen, setChosen] = useState<string | null>(null);
  const [isVip, setVip] = useState(false);
  const model = chosen ?? tellingModel(document, models);
  const ladder = document?.ladders?.[ladderName];
  const classes = classesOf(ladder?.rungs ?? []);
  const call = { model, isVip, models: models.length === 0 ? [model] : models };
  return (
    <section className="grid gap-2 rounded-lg bg-sunken/60 px-3.5 py-3" data-testid="ladder-preview">
      <h4 className="text-[0.8125rem] font-semibold">{t("previewTitle")}</h4>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1 text-xs text-soft">
        <span>{t("previewNote")}</span>
        <Select
          aria-label={t("asked")}
          className="h-8 w-auto max-w-full max-md:h-10"
          value={model}
          onChange={(event) => setChosen(event.target.value)}
        >
          {(models.length === 0 ? [model] : models).map((name) => (
            <option key={name}>{name}</option>
          ))}
        </Select>
        <Choice
          type="checkbox"
          label={t("previewVip")}
          checked={isVip}
          onChange={(event) => setVip(event.target.checked)}
        />
      </div>
      {document === null || ladder === undefined ? (
        <p className="text-[0.8125rem] text-danger">{t("previewBroken")}</p>
      ) : (
        <>
          <ul className="grid gap-1.5 text-[0.8125rem]" aria-live="polite">
            {classes.map((name) => (
              <li key={name} data-class={name} className="first-letter:uppercase">
                {words.stagesSentence(name, model, stagesOf(document, ladderName, { ...call, trafficClass: name }))}
              </li>
            ))}
          </ul>
          {findingsOf(document, ladderName, call, classes).map((finding) => (
            <Notice key={JSON.stringify(finding)} tone="warn" className="text-[0.8125rem]">
              {words.finding(finding, model)}
            </Notice>
          ))}
        </>
      )}
    </section>
  );
}
