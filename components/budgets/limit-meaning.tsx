"use client";
import { TriangleAlert } from "lucide-react";
import { useLocale, useTranslations } from "next-intl";
import type { ReactElement } from "react";
import { amountOfMeter, compactText, countText, moneyWithCode } from "@/components/format/money";
import { Notice } from "@/components/ui/notice";
import type { BudgetTree, BudgetView } from "@/lib/contracts/budgets";
import type { BudgetDraft } from "./budget-draft";
import { limitMeaning } from "./budget-units";

interface MeaningProps {
  readonly tree: BudgetTree;
  readonly nodeId: string;
  readonly budget: BudgetView | null;
  readonly draft: BudgetDraft;
}

const NANOS = 1_000_000_000n;
/** From here on a short form says more than the zeros: "1.2万". */
const LONG = 10_000n;

/** What was typed, with its unit and currency, by the day, and held against what is there: a slip of unit stands out. */
export function LimitMeaningNote({ tree, nodeId, budget, draft }: MeaningProps): ReactElement | null {
  const t = useTranslations("budgetUnits");
  const b = useTranslations("budgets");
  const locale = useLocale();
  const meaning = limitMeaning(tree, nodeId, budget, draft);
  if (meaning === undefined) return null;
  const { meter, periodKind } = draft;
  const { currency } = tree.organisation;
  const withUnit = (amount: bigint): string =>
    meter === "cost"
      ? moneyWithCode(amount, currency, locale)
      : `${amountOfMeter(amount, meter, locale)} ${b(`meters.${meter}`)}`;
  const whole = meter === "cost" ? meaning.amount / NANOS : meaning.amount;
  const { against, timesTenths, isSuspicious } = meaning;
  const times =
    timesTenths === null
      ? "–"
      : timesTenths >= 100n
        ? countText(timesTenths / 10n, locale)
        : new Intl.NumberFormat(locale, { maximumFractionDigits: 1 }).format(Number(timesTenths) / 10);
  return (
    <Notice
      tone={isSuspicious ? "warn" : "info"}
      {...(isSuspicious ? { icon: <TriangleAlert aria-hidden className="text-warn-ink" /> } : {})}
      className="text-[0.8125rem]"
    >
      <div aria-live="polite" data-testid="limit-meaning">
        <p className="font-medium">
          {t(`period.${periodKind}`, { amount: withUnit(meaning.amount) })}
          {whole < LONG ? null : ` ${t("short", { amount: compactText(whole, locale) })}`}
        </p>
        {periodKind === "day" ? null : <p className="text-soft">{t("perDay", { amount: withUnit(meaning.perDay) })}</p>}
        {against === null ? null : (
          <p className={isSuspicious ? "" : "text-soft"}>
            {t(`against.${against.kind}`, { times, name: against.name, amount: withUnit(against.amount) })}
            {isSuspicious ? ` ${t("isUnitRight")}` : null}
          </p>
        )}
      </div>
    </Notice>
  );
}
