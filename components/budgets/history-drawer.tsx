"use client";
import { useLocale, useTranslations } from "next-intl";
import type { ReactElement } from "react";
import { Ago } from "@/components/format/figures";
import { amountOfMeter } from "@/components/format/money";
import { dateTimeText } from "@/components/format/time";
import { QueryView } from "@/components/query/query-view";
import { DialogFrame } from "@/components/ui/dialog";
import { SkeletonCards } from "@/components/ui/skeleton";
import type { BudgetHistoryEntry, BudgetTree, BudgetView } from "@/lib/contracts/budgets";
import { useBudgetWords } from "./use-budget-words";
import { useBudgetHistory } from "./use-budgets";

interface HistoryProps {
  readonly tree: BudgetTree;
  readonly budget: BudgetView;
  readonly onClose: () => void;
}

const AMOUNTS = ["limitAmount", "overflowAmount", "amount"];

/** A value of the audit log as a person reads it. */
function useValueText(tree: BudgetTree, budget: BudgetView): (field: string, value: unknown) => string {
  const t = useTranslations("budgets");
  const locale = useLocale();
  const words = useBudgetWords();
  return (field, value) => {
    if (value === null || value === undefined || (Array.isArray(value) && value.length === 0)) return t("nothing");
    if (Array.isArray(value)) return value.map(String).join(", ");
    const text = typeof value === "string" ? value : JSON.stringify(value);
    if (AMOUNTS.includes(field) && /^-?\d+$/u.test(text)) return amountOfMeter(text, budget.meter, locale);
    if (field === "ladder") return words.ladderName(text);
    if (/^\d{4}-\d\d-\d\dT/u.test(text)) return dateTimeText(Date.parse(text), locale, tree.organisation.timeZone);
    if (t.has(`periods.${text as "day"}`)) return t(`periods.${text as "day"}`);
    if (t.has(`enforcementShort.${text as "warn"}`)) return t(`enforcementShort.${text as "warn"}`);
    return text;
  };
}

function Entry({
  entry,
  tree,
  budget,
}: Omit<HistoryProps, "onClose"> & { readonly entry: BudgetHistoryEntry }): ReactElement {
  const t = useTranslations("budgets");
  const valueText = useValueText(tree, budget);
  const isNew = entry.action === "budget.create";
  // A new budget has no before: what it does not set is not worth a line.
  const isSet = (value: unknown): boolean => value !== null && !(Array.isArray(value) && value.length === 0);
  const known = entry.changes.filter(
    (change) => t.has(`fieldsChanged.${change.field as "name"}`) && (!isNew || isSet(change.after)),
  );
  const action = `actionsDone.${entry.action as "budget.create"}` as const;
  return (
    <li className="relative border-l-2 border-line pb-5 pl-4 last:pb-0">
      <span aria-hidden className="absolute top-1.5 -left-[5px] size-2 rounded-full bg-brand" />
      <p>
        <span className="font-medium">{entry.actor}</span> {t.has(action) ? t(action) : entry.action}
      </p>
      <p className="text-xs text-soft">
        <Ago ms={entry.atMs} nowMs={tree.readAtMs} timeZone={tree.organisation.timeZone} />
      </p>
      {known.length === 0 ? null : (
        <dl className="figures mt-1.5 grid gap-1 text-[0.8125rem]">
          {known.map((change) => (
            <div key={change.field} className="grid grid-cols-[7rem_minmax(0,1fr)] gap-2">
              <dt className="text-soft">{t(`fieldsChanged.${change.field as "name"}`)}</dt>
              <dd className="break-words">
                {isNew || change.before === null ? null : (
                  <span className="mr-2 text-soft line-through decoration-1">
                    <span className="sr-only">{t("historyFrom", { value: "" })}</span>
                    {valueText(change.field, change.before)}
                  </span>
                )}
                <span>{valueText(change.field, change.after)}</span>
              </dd>
            </div>
          ))}
        </dl>
      )}
    </li>
  );
}

export function HistoryDrawer({ tree, budget, onClose }: HistoryProps): ReactElement {
  const t = useTranslations("budgets");
  const found = useBudgetHistory(budget.id);
  return (
    <DialogFrame shape="drawer" onClose={onClose} title={t("historyTitle", { name: budget.name })}>
      <QueryView
        query={found}
        skeleton={<SkeletonCards count={2} />}
        empty={({ entries }) => (entries.length === 0 ? { title: t("historyEmpty") } : null)}
      >
        {({ entries }) => (
          <ol className="text-sm">
            {entries.map((entry) => (
              <Entry key={entry.auditId} entry={entry} tree={tree} budget={budget} />
            ))}
          </ol>
        )}
      </QueryView>
    </DialogFrame>
  );
}
