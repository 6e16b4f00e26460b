"use client";
import { Download } from "lucide-react";
import { useLocale, useTranslations } from "next-intl";
import Link from "next/link";
import { parseAsString, useQueryStates } from "nuqs";
import type { ReactElement } from "react";
import { CallCost, Count } from "@/components/format/figures";
import { countText } from "@/components/format/money";
import { durationText, logTimeText, zoneText } from "@/components/format/time";
import { OlderRows } from "@/components/query/older-rows";
import { QueryView } from "@/components/query/query-view";
import { PageHeader } from "@/components/shell/page-header";
import { Badge } from "@/components/ui/badge";
import { Button } from "@/components/ui/button";
import { Card } from "@/components/ui/card";
import { cn } from "@/components/ui/cn";
import { SkeletonRows } from "@/components/ui/skeleton";
import { EXPORT_MAX_ROWS, requestListQuery } from "@/lib/contracts/requests";
import type { RequestList, RequestListQuery, RequestRow } from "@/lib/contracts/requests";
import { RequestFilters } from "./request-filters";
import { useRequests } from "./use-requests";
import { decisionTone, useDecisionText, useOutcomeText } from "./use-request-words";

const text = parseAsString.withDefault("");

/** The filters, kept in the address: back, reload and a shared link show the same rows. */
function useFilters(): [RequestListQuery, (change: Partial<RequestListQuery>) => void] {
  const [state, setState] = useQueryStates(
    { q: text, app: text, model: text, decision: text, outcome: text, session: text },
    { history: "push", shallow: true },
  );
  const parsed = requestListQuery.safeParse(state);
  const query = parsed.success ? parsed.data : requestListQuery.parse({});
  return [query, (change) => void setState(change)];
}

function Row({
  row,
  organisation,
}: {
  readonly row: RequestRow;
  readonly organisation: RequestList["organisation"];
}): ReactElement {
  const t = useTranslations("requests");
  const locale = useLocale();
  const decisionText = useDecisionText();
  const outcomeText = useOutcomeText();
  const cell = "px-3 py-2 align-top max-lg:block max-lg:px-4 max-lg:py-0.5";
  const refused = row.decision === "refused";
  const changed = row.modelServed !== null && row.modelServed !== row.modelRequested;
  const hasTokens = row.inputTokens !== null && row.outputTokens !== null;
  return (
    <tr className="hover:bg-sunken/60 max-lg:relative max-lg:block max-lg:py-2.5">
      <th scope="row" className={cn(cell, "figures font-normal whitespace-nowrap")}>
        <Link
          href={`/requests/${row.requestId}`}
          className="block text-left leading-6 font-medium text-brand underline-offset-4 after:inset-0 hover:underline max-lg:after:absolute"
          title={row.requestId}
        >
          {logTimeText(row.atMs, locale, organisation.timeZone)}
        </Link>
        <span className="block text-left font-mono text-[0.6875rem] text-soft">
          {`…${row.requestId.slice(-8)}`}
          {row.attempt > 0 ? ` · ${t("attempt", { number: row.attempt + 1 })}` : ""}
        </span>
      </th>
      <td className={cell}>
        <span className="block max-w-44 truncate">{row.appName ?? t("unknownApp")}</span>
        <span className="block max-w-44 truncate text-xs text-soft max-lg:hidden">{row.keyName ?? ""}</span>
      </td>
      <td className={cn(cell, "max-w-52 min-w-32")}>
        <span className="block truncate" title={row.modelServed ?? row.modelRequested ?? ""}>
          {row.modelServed ?? row.modelRequested ?? "–"}
        </span>
        {changed ? (
          <span className="block truncate text-xs text-soft">{t("asked", { model: row.modelRequested ?? "–" })}</span>
        ) : null}
      </td>
      <td className={cell}>
        <Badge tone={decisionTone(row.decision)}>{decisionText(row.decision)}</Badge>
        {refused || row.outcome !== "ok" ? (
          <span className="mt-0.5 block text-xs text-soft">{outcomeText(row.outcome)}</span>
        ) : null}
      </td>
      <td className={cn(cell, "figures text-right whitespace-nowrap text-soft max-lg:hidden")}>
        {hasTokens ? (
          <>
            <Count value={row.inputTokens ?? 0} />
            {" / "}
            <Count value={row.outputTokens ?? 0} />
          </>
        ) : (
          "–"
        )}
      </td>
      <td className={cn(cell, "text-right whitespace-nowrap max-lg:text-left")}>
        <span className="mr-1 text-xs text-soft lg:hidden">{organisation.currency}</span>
        {row.amount === null ? <span className="text-soft">–</span> : <CallCost nanos={row.amount} />}
        {row.isEstimated ? <span className="text-xs text-warn-ink lg:block">{` ${t("estimated")}`}</span> : null}
      </td>
      <td className={cn(cell, "figures text-right whitespace-nowrap text-soft max-lg:hidden")}>
        {row.latencyMs === null ? "–" : durationText(row.latencyMs, locale)}
      </td>
    </tr>
  );
}

function LogTable({ list, rows }: { readonly list: RequestList; readonly rows: readonly RequestRow[] }): ReactElement {
  const t = useTranslations("requests");
  const head = "sticky top-14 z-10 bg-surface px-3 py-2 font-medium shadow-[inset_0_-1px_0_var(--line)]";
  return (
    <table className="w-full border-separate border-spacing-0 text-[0.8125rem] max-lg:block max-lg:[&_tbody_tr:not(:first-child)]:border-t lg:[&_tbody_tr>*]:border-t">
      <thead className="text-left text-xs text-soft max-lg:hidden">
        <tr>
          <th className={cn(head, "rounded-tl-xl")}>{t("col.time")}</th>
          <th className={head}>{t("col.app")}</th>
          <th className={head}>{t("col.model")}</th>
          <th className={head}>{t("col.decision")}</th>
          <th className={cn(head, "text-right")}>{t("col.tokens")}</th>
          <th className={cn(head, "text-right")}>{t("col.cost", { currency: list.organisation.currency })}</th>
          <th className={cn(head, "rounded-tr-xl text-right")}>{t("col.latency")}</th>
        </tr>
      </thead>
      <tbody className="max-lg:block">
        {rows.map((row) => (
          <Row key={`${row.requestId}:${String(row.attempt)}`} row={row} organisation={list.organisation} />
        ))}
      </tbody>
    </table>
  );
}

/** A plain link: the browser saves what it gets, and says itself when it cannot. */
function ExportLink({ query }: { readonly query: RequestListQuery }): ReactElement {
  const t = useTranslations("requestExport");
  const locale = useLocale();
  const filters = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== ""));
  return (
    <Button asChild>
      <a
        download
        href={`/api/console/requests/export?${filters.toString()}`}
        title={t("hint", { count: countText(EXPORT_MAX_ROWS, locale) })}
      >
        <Download aria-hidden /> {t("action")}
      </a>
    </Button>
  );
}

export function RequestsPage(): ReactElement {
  const t = useTranslations("requests");
  const [query, setQuery] = useFilters();
  const found = useRequests(query);
  const { data } = found;
  const list = data?.pages[0];
  const rows = data?.pages.flatMap((page) => page.rows) ?? [];
  const isFiltered = Object.values(query).some((value) => value !== "");
  return (
    <>
      <PageHeader
        title={t("title")}
        lead={
          list === undefined
            ? t("lead")
            : `${t("lead")} ${zoneText(list.rows[0]?.atMs ?? 0, list.organisation.timeZone)}`
        }
        actions={rows.length === 0 || list?.canExport !== true ? undefined : <ExportLink query={query} />}
      />
      <RequestFilters query={query} list={list} onChange={setQuery} />
      <QueryView
        query={{ ...found, data: list }}
        skeleton={<SkeletonRows rows={12} />}
        empty={() =>
          rows.length > 0
            ? null
            : {
                title: t(isFiltered ? "noMatchTitle" : "emptyTitle"),
                body: t(isFiltered ? "noMatchBody" : "emptyBody"),
              }
        }
      >
        {(shown) => (
          <Card>
            <LogTable list={shown} rows={rows} />
            <OlderRows query={found} label={t("older")} />
          </Card>
        )}
      </QueryView>
    </>
  );
}
