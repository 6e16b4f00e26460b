"use client";
import { useLocale, useTranslations } from "next-intl";
import type { ReactElement } from "react";
import { useBudgetWords } from "@/components/budgets/use-budget-words";
import { percentText } from "@/components/format/money";
import { cn } from "@/components/ui/cn";
import { useLadderWords } from "@/components/ladders/use-ladder-words";
import { ACTION_KINDS } from "@/lib/domain/policy";
import type { PolicyDocument } from "@/lib/domain/policy";
import { diffPolicies } from "./policy-diff";
import type { LadderPlace, PolicyDifference } from "./policy-diff";

interface ChangesProps {
  readonly before: PolicyDocument;
  readonly after: PolicyDocument;
}

const SHOWN = 100;

interface Words {
  readonly where: (difference: PolicyDifference) => string;
  readonly value: (text: string, place: LadderPlace | undefined) => string;
}

/** Ladders are told in words; other settings by their path and value. */
function useWords(): Words {
  const t = useTranslations("ladderForm");
  const locale = useLocale();
  const budgets = useBudgetWords();
  const { className } = useLadderWords();
  const partOf = (part: string): string => {
    if (part === "name" || part === "overflow") return t(`diff.${part}`);
    return part === "*" ? t("others") : className(part);
  };
  return {
    where: ({ path, place }) => {
      if (place === undefined) return path;
      const ladder = budgets.ladderName(place.ladder);
      if (place.atBasisPoints === null) return `${ladder} · ${partOf(place.part)}`;
      return `${ladder} · ${percentText(place.atBasisPoints, locale, 2)} · ${partOf(place.part)}`;
    },
    value: (text, place) => {
      if (place === undefined) return text;
      if (place.part === "name") return budgets.rungName(text);
      if (place.part === "overflow") return t(`overflowKinds.${text as "all"}`);
      const [kind, ...numbers] = text.split(" ");
      const known = ACTION_KINDS.find((one) => one === kind);
      return [known === undefined ? text : t(`actions.${known}`), ...numbers].join(" ");
    },
  };
}

/** What differs, setting by setting: what goes is struck out, what comes stands beside it. */
export function PolicyChanges({ before, after }: ChangesProps): ReactElement {
  const t = useTranslations("policies");
  const words = useWords();
  const differences = diffPolicies(before, after);
  if (differences.length === 0) return <p className="text-[0.8125rem] text-soft">{t("noDifference")}</p>;
  return (
    <ul className="divide-y text-[0.8125rem]" data-testid="policy-changes">
      {differences.slice(0, SHOWN).map((difference) => {
        const { setting, path, place, before: was, after: is } = difference;
        return (
          <li
            key={`${setting}.${path}`}
            className="grid gap-x-4 gap-y-0.5 py-2 sm:grid-cols-[minmax(0,1fr)_minmax(0,1fr)]"
          >
            <span className="min-w-0">
              <span className="font-medium">{t(`settings.${setting}`)}</span>
              {path === "" ? null : (
                <span
                  className={cn(
                    "ml-1.5 text-xs text-soft",
                    place === undefined ? "font-mono break-all" : "break-words",
                  )}
                >
                  {words.where(difference)}
                </span>
              )}
            </span>
            <span className="min-w-0 break-words">
              {was === null ? (
                <span className="text-soft">{t("notSaid")}</span>
              ) : (
                <del className="text-soft">{words.value(was, place)}</del>
              )}
              <span aria-hidden className="mx-1.5 text-soft">
                →
              </span>
              {is === null ? (
                <span className="text-soft">{t("notSaid")}</span>
              ) : (
                <ins className="font-medium no-underline">{words.value(is, place)}</ins>
              )}
            </span>
          </li>
        );
      })}
      {differences.length > SHOWN ? (
        <li className="py-2 text-soft">{t("moreDifferences", { count: differences.length - SHOWN })}</li>
      ) : null}
    </ul>
  );
}
