"use client";
import { useLocale, useTranslations } from "next-intl";
import type { ReactElement, ReactNode } from "react";
import { MoneyWithCode } from "@/components/format/figures";
import { countText, moneyText, percentText, ratioBasisPoints } from "@/components/format/money";
import { monthText, resetText, dateText } from "@/components/format/time";
import { Card } from "@/components/ui/card";
import { WhatIsThis } from "@/components/ui/what-is-this";
import type { Overview } from "@/lib/contracts/overview";

interface FigureProps {
  readonly label: string;
  /** What is in the figure. */
  readonly help: string;
  readonly note: ReactNode;
  readonly children: ReactNode;
  readonly testId?: string;
}

function Figure({ label, help, note, children, testId }: FigureProps): ReactElement {
  return (
    <div className="min-w-0 px-4 py-3.5 sm:px-5">
      <p className="flex items-center gap-1 text-[0.8125rem] text-soft">
        {label}
        <WhatIsThis name={label}>{help}</WhatIsThis>
      </p>
      <p className="mt-1 text-[1.625rem] leading-tight font-semibold tracking-[-0.02em]" data-testid={testId}>
        {children}
      </p>
      <div className="figures mt-1 text-xs leading-relaxed text-soft">{note}</div>
    </div>
  );
}

function useRangeNotes(view: Overview): {
  readonly of: (range: Overview["today"], kind: "day" | "month") => ReactNode;
} {
  const t = useTranslations("overview");
  const locale = useLocale();
  return {
    of: (range, kind) => {
      const { amount } = range.totals;
      const used = range.limitAmount === null ? null : ratioBasisPoints(BigInt(amount), BigInt(range.limitAmount));
      const previous = range.previousAmount === null ? null : BigInt(range.previousAmount);
      const change =
        previous === null || previous === 0n ? null : Number(((BigInt(amount) - previous) * 10_000n) / previous);
      return (
        <>
          <span className="block">
            {used === null || range.limitAmount === null
              ? t(kind === "day" ? "noDayBudget" : "noMonthBudget")
              : t("ofBudget", { percent: percentText(used, locale), limit: moneyText(range.limitAmount, locale) })}
          </span>
          <span className="block">
            {change === null
              ? t(kind === "day" ? "noYesterday" : "noLastMonth")
              : t(kind === "day" ? "vsYesterday" : "vsLastMonth", {
                  change: `${change > 0 ? "+" : ""}${percentText(change, locale)}`,
                })}
          </span>
          <span className="block">
            {t("resets", { at: resetText(range.period.endMs, locale, view.organisation.timeZone) })}
          </span>
        </>
      );
    },
  };
}

/** The figures on top: today, this month, what is in flight, what the ladder saved. */
export function FiguresRow({ view }: { readonly view: Overview }): ReactElement {
  const t = useTranslations("overview");
  const locale = useLocale();
  const { currency, timeZone } = view.organisation;
  const notes = useRangeNotes(view);
  const where = { currency, zone: timeZone };
  const held = view.month.heldAmount ?? view.today.heldAmount;
  return (
    <Card
      aria-label={t("figures")}
      className="grid divide-y sm:grid-cols-2 sm:[&>*:nth-child(2)]:border-t-0 sm:[&>*:nth-child(odd)]:border-r xl:grid-cols-4 xl:divide-y-0 xl:[&>*:nth-child(2)]:border-r"
    >
      <Figure
        testId="spend-today"
        label={t("today", { date: dateText(view.today.period.startMs, locale, timeZone) })}
        help={t("help.today", where)}
        note={notes.of(view.today, "day")}
      >
        <MoneyWithCode nanos={view.today.totals.amount} currency={currency} />
      </Figure>
      <Figure
        testId="spend-month"
        label={t("month", { month: monthText(view.month.period.startMs, locale, timeZone) })}
        help={t("help.month", where)}
        note={notes.of(view.month, "month")}
      >
        <MoneyWithCode nanos={view.month.totals.amount} currency={currency} />
      </Figure>
      <Figure
        testId="held"
        label={t("held")}
        help={t("help.held", where)}
        note={view.live ? t("heldNote") : t("heldUnknown")}
      >
        {held === null ? <span className="text-soft">–</span> : <MoneyWithCode nanos={held} currency={currency} />}
      </Figure>
      <Figure
        testId="saved"
        label={t("saved")}
        help={t("help.saved", where)}
        note={t("savedNote", { count: countText(view.month.totals.downgradeRequests, locale) })}
      >
        <MoneyWithCode nanos={view.month.totals.savedAmount} currency={currency} />
      </Figure>
    </Card>
  );
}
