"use client";
import { TriangleAlert } from "lucide-react";
import { useLocale, useTranslations } from "next-intl";
import type { ReactElement } from "react";
import { clockText, relativeText, zoneText } from "@/components/format/time";
import { QueryView } from "@/components/query/query-view";
import { PageHeader } from "@/components/shell/page-header";
import { Notice } from "@/components/ui/notice";
import { Skeleton } from "@/components/ui/skeleton";
import type { Overview } from "@/lib/contracts/overview";
import { DepartmentSpend, LastRefusals, ModelSpend } from "./breakdowns";
import { BudgetList } from "./budget-list";
import { FiguresRow } from "./figures-row";
import { SampleBanner } from "./sample-banner";
import { SpendChart } from "./spend-chart";
import { useOverview } from "./use-overview";

/** Usage is booked within a second or two; what waits longer means that the books lag behind. */
const LAG_MS = 5_000;

function lagOf({ backlog }: Overview): { readonly waiting: number; readonly ageMs: number } | null {
  if (backlog?.oldestAgeMs == null || backlog.oldestAgeMs < LAG_MS) return null;
  return { waiting: backlog.waiting, ageMs: backlog.oldestAgeMs };
}

/** What the numbers are worth: when they were read, and how far the books go. */
function Freshness({ view, stale }: { readonly view: Overview; readonly stale: boolean }): ReactElement {
  const t = useTranslations("overview");
  const locale = useLocale();
  const { timeZone } = view.organisation;
  const lag = lagOf(view);
  return (
    <span className="figures flex flex-wrap items-center gap-x-2">
      <span className="inline-flex items-center gap-1.5">
        <span aria-hidden className={`size-2 rounded-full ${stale || lag !== null ? "bg-rung-warn" : "bg-good"}`} />
        {stale
          ? t("paused", { at: clockText(view.readAtMs, locale, timeZone) })
          : t("readAt", { at: clockText(view.readAtMs, locale, timeZone) })}
      </span>
      <span>
        {view.bookedThroughMs === null
          ? t("nothingBooked")
          : t("bookedThrough", { ago: relativeText(view.bookedThroughMs, view.readAtMs, locale) })}
      </span>
      {lag === null ? null : (
        <span className="font-medium text-warn-ink" data-testid="booking-lag">
          {t("lag", { count: lag.waiting, since: relativeText(view.readAtMs - lag.ageMs, view.readAtMs, locale) })}
        </span>
      )}
      <span>{zoneText(view.readAtMs, timeZone)}</span>
    </span>
  );
}

function Loading(): ReactElement {
  return (
    <div className="grid gap-4">
      <Skeleton className="h-32" />
      <Skeleton className="h-80" />
      <Skeleton className="h-64" />
    </div>
  );
}

export function OverviewPage(): ReactElement {
  const t = useTranslations("overview");
  const found = useOverview();
  const view = found.data;
  return (
    <>
      {view?.organisation.isSample === true ? <SampleBanner canRemove={view.canRemoveSample} /> : null}
      <PageHeader
        title={t("title")}
        lead={view === undefined ? undefined : <Freshness view={view} stale={found.error !== null} />}
      />
      <QueryView query={found} skeleton={<Loading />}>
        {(shown) => (
          <div className="grid gap-4">
            {shown.live ? null : (
              <Notice tone="warn" role="status" icon={<TriangleAlert aria-hidden className="text-warn-ink" />}>
                {t("notLive")}
              </Notice>
            )}
            <FiguresRow view={shown} />
            <div className="grid gap-4 xl:grid-cols-[minmax(0,1.7fr)_minmax(0,1fr)]">
              <SpendChart view={shown} />
              <DepartmentSpend view={shown} />
            </div>
            <BudgetList view={shown} />
            <div className="grid gap-4 xl:grid-cols-[minmax(0,1.7fr)_minmax(0,1fr)]">
              <ModelSpend view={shown} />
              <LastRefusals view={shown} />
            </div>
          </div>
        )}
      </QueryView>
    </>
  );
}
