"use client";
import { useLocale, useTranslations } from "next-intl";
import type { ReactElement } from "react";
import { BurnChart } from "@/components/charts/burn-chart";
import { ChartFrame } from "@/components/charts/chart-frame";
import { spendSeries } from "@/components/charts/spend-series";
import type { SpendSeries } from "@/components/charts/spend-series";
import { moneyText, moneyWithCode, percentText, ratioBasisPoints } from "@/components/format/money";
import { saveCsv } from "@/components/format/save-csv";
import { dateText, dayOfMonthText, localDate, zoneText } from "@/components/format/time";
import { EmptyState } from "@/components/ui/notice";
import type { Overview } from "@/lib/contracts/overview";
import { nanosToDecimal } from "@/lib/domain/money";

function useSummary(): (view: Overview, series: SpendSeries) => string {
  const t = useTranslations("overview");
  const locale = useLocale();
  return (view, series) => {
    const { currency, timeZone } = view.organisation;
    const spent = moneyWithCode(series.totalNanos, currency, locale);
    const until = dateText(view.readAtMs, locale, timeZone);
    if (series.limitNanos === null || series.paceNanos === null) return t("chartPlain", { spent, until });
    const used = ratioBasisPoints(series.totalNanos, series.limitNanos);
    const gap = series.totalNanos - series.paceNanos;
    return t(gap > 0n ? "chartAhead" : "chartBelow", {
      spent,
      until,
      percent: used === null ? "–" : percentText(used, locale),
      limit: moneyWithCode(series.limitNanos, currency, locale),
      gap: moneyWithCode(gap < 0n ? -gap : gap, currency, locale),
    });
  };
}

function Legend({ hasLimit }: { readonly hasLimit: boolean }): ReactElement {
  const t = useTranslations("charts");
  return (
    <ul className="flex flex-wrap gap-x-4 gap-y-1 text-xs text-soft">
      <li className="flex items-center gap-1.5">
        <span aria-hidden className="h-0.5 w-4 bg-(--series-1)" />
        {t("spent")}
      </li>
      {hasLimit ? (
        <>
          <li className="flex items-center gap-1.5">
            <span aria-hidden className="w-4 border-t-2 border-dashed border-line-strong" />
            {t("pace")}
          </li>
          <li className="flex items-center gap-1.5">
            <span aria-hidden className="h-0.5 w-4 bg-rung-exhausted" />
            {t("limit")}
          </li>
        </>
      ) : null}
    </ul>
  );
}

export function SpendChart({ view }: { readonly view: Overview }): ReactElement {
  const t = useTranslations("overview");
  const c = useTranslations("charts");
  const locale = useLocale();
  const summaryOf = useSummary();
  const series = spendSeries(view);
  const { currency, timeZone } = view.organisation;
  const summary = summaryOf(view, series);
  return (
    <ChartFrame
      title={t("chartTitle", { currency })}
      note={zoneText(view.readAtMs, timeZone)}
      summary={summary}
      isEmpty={view.month.totals.requests === 0}
      empty={<EmptyState title={t("noSpendTitle")} body={t("noSpendBody")} />}
      onSave={() =>
        saveCsv(`spillway-days-${view.organisation.id}.csv`, [
          [c("day"), c("onDay", { currency }), c("upTo", { currency })],
          ...view.days.map((day, index) => [
            localDate(day.startMs, timeZone),
            { decimal: nanosToDecimal(BigInt(day.amount)) },
            { decimal: nanosToDecimal(BigInt(series.points[index + 1]?.spentNanos ?? "0")) },
          ]),
        ])
      }
      legend={<Legend hasLimit={series.limitNanos !== null} />}
      table={
        <table className="figures w-full text-xs">
          <thead className="sticky top-0 bg-surface text-left text-soft">
            <tr>
              <th className="px-3 py-1.5 font-medium">{c("day")}</th>
              <th className="px-3 py-1.5 text-right font-medium">{c("onDay", { currency })}</th>
              <th className="px-3 py-1.5 text-right font-medium">{c("upTo", { currency })}</th>
            </tr>
          </thead>
          <tbody>
            {view.days.map((day, index) => (
              <tr key={day.startMs} className="border-t">
                <td className="px-3 py-1.5">{dayOfMonthText(day.startMs, locale, timeZone)}</td>
                <td className="px-3 py-1.5 text-right">{moneyText(day.amount, locale)}</td>
                <td className="px-3 py-1.5 text-right">
                  {moneyText(series.points[index + 1]?.spentNanos ?? "0", locale)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      }
    >
      <BurnChart series={series} timeZone={timeZone} label={summary} />
    </ChartFrame>
  );
}
