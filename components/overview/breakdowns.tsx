"use client";
import { useLocale, useTranslations } from "next-intl";
import Link from "next/link";
import type { ReactElement } from "react";
import { Ago, Count, Money } from "@/components/format/figures";
import { compactText, percentText, ratioBasisPoints } from "@/components/format/money";
import { monthText, zoneText } from "@/components/format/time";
import { useOutcomeText } from "@/components/requests/use-request-words";
import { Badge } from "@/components/ui/badge";
import { Card, CardHeader } from "@/components/ui/card";
import { EmptyState } from "@/components/ui/notice";
import type { Overview } from "@/lib/contracts/overview";

const SERIES_COLOURS = 6;

function shareOf(part: string, whole: bigint): number {
  return ratioBasisPoints(BigInt(part), whole) ?? 0;
}

export function DepartmentSpend({ view }: { readonly view: Overview }): ReactElement {
  const t = useTranslations("overview");
  const locale = useLocale();
  const largest = view.departments.reduce((most, one) => (BigInt(one.amount) > most ? BigInt(one.amount) : most), 0n);
  const total = BigInt(view.month.totals.amount);
  const first = view.departments[0];
  return (
    <Card aria-labelledby="overview-departments">
      <CardHeader
        id="overview-departments"
        title={t("departmentsTitle", { currency: view.organisation.currency })}
        note={`${monthText(view.month.period.startMs, locale, view.organisation.timeZone)} · ${zoneText(view.readAtMs, view.organisation.timeZone)}`}
      />
      {first === undefined || total === 0n ? (
        <EmptyState title={t("noSpendTitle")} body={t("noDepartmentsBody")} />
      ) : (
        <div className="px-4 pb-4 sm:px-5">
          <ol className="grid gap-3">
            {view.departments.slice(0, 8).map((one, index) => (
              <li key={one.id}>
                <div className="flex items-baseline justify-between gap-3 text-[0.8125rem]">
                  <span className="truncate font-medium">{one.id === "unallocated" ? t("unallocated") : one.name}</span>
                  <span className="figures shrink-0">
                    <Money nanos={one.amount} />
                    <span className="ml-2 inline-block w-12 text-right text-xs text-soft">
                      {percentText(shareOf(one.amount, total), locale)}
                    </span>
                  </span>
                </div>
                <div aria-hidden className="mt-1 h-1.5 overflow-hidden rounded-full bg-sunken">
                  <div
                    className="h-full rounded-full"
                    style={{
                      width: `${String(shareOf(one.amount, largest) / 100)}%`,
                      background: index < SERIES_COLOURS ? `var(--series-${String(index + 1)})` : "var(--series-other)",
                    }}
                  />
                </div>
              </li>
            ))}
          </ol>
          <p className="mt-3 text-[0.8125rem] text-soft">
            {t("departmentsSummary", {
              name: first.id === "unallocated" ? t("unallocated") : first.name,
              percent: percentText(shareOf(first.amount, total), locale),
            })}
          </p>
        </div>
      )}
    </Card>
  );
}

export function ModelSpend({ view }: { readonly view: Overview }): ReactElement {
  const t = useTranslations("overview");
  const locale = useLocale();
  const { currency } = view.organisation;
  const tokens = (value: string): string => compactText(BigInt(value), locale);
  return (
    <Card aria-labelledby="overview-models">
      <CardHeader
        id="overview-models"
        title={t("modelsTitle")}
        note={monthText(view.month.period.startMs, locale, view.organisation.timeZone)}
      />
      {view.models.length === 0 ? (
        <EmptyState title={t("noSpendTitle")} body={t("noModelsBody")} />
      ) : (
        <div className="px-1 pb-3 sm:px-2">
          <table className="w-full text-[0.8125rem]">
            <thead>
              <tr className="text-left text-xs text-soft">
                <th className="px-3 py-1.5 font-medium">{t("model")}</th>
                <th className="px-3 py-1.5 text-right font-medium">{t("spendIn", { currency })}</th>
                <th className="px-3 py-1.5 text-right font-medium max-sm:hidden">{t("calls")}</th>
                <th className="px-3 py-1.5 text-right font-medium max-sm:hidden">{t("tokensInOut")}</th>
                <th className="px-3 py-1.5 text-right font-medium">{t("savedIn", { currency })}</th>
              </tr>
            </thead>
            <tbody>
              {view.models.map((one) => (
                <tr key={one.model} className="border-t">
                  <td className="max-w-0 min-w-32 truncate px-3 py-2 font-medium" title={one.model}>
                    <Link href={`/requests?model=${encodeURIComponent(one.model)}`} className="hover:underline">
                      {one.model}
                    </Link>
                  </td>
                  <td className="px-3 py-2 text-right">
                    <Money nanos={one.amount} />
                  </td>
                  <td className="px-3 py-2 text-right max-sm:hidden">
                    <Count value={one.requests} />
                  </td>
                  <td className="figures px-3 py-2 text-right text-soft max-sm:hidden">
                    {`${tokens(one.inputTokens)} / ${tokens(one.outputTokens)}`}
                  </td>
                  <td className="px-3 py-2 text-right">
                    {one.savedAmount === "0" ? <span className="text-soft">–</span> : <Money nanos={one.savedAmount} />}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  );
}

export function LastRefusals({ view }: { readonly view: Overview }): ReactElement {
  const t = useTranslations("overview");
  const outcomeText = useOutcomeText();
  return (
    <Card aria-labelledby="overview-refusals">
      <CardHeader
        id="overview-refusals"
        title={t("refusalsTitle")}
        action={
          <Link
            href="/requests?decision=refused"
            className="text-[0.8125rem] text-brand underline-offset-4 hover:underline"
          >
            {t("allRefusals")}
          </Link>
        }
      />
      {view.refusals.length === 0 ? (
        <EmptyState title={t("noRefusalsTitle")} body={t("noRefusalsBody")} />
      ) : (
        <ul className="divide-y border-t">
          {view.refusals.map((one) => (
            <li key={one.requestId}>
              <Link
                href={`/requests/${one.requestId}`}
                className="grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-3 px-4 py-2.5 text-[0.8125rem] hover:bg-sunken sm:px-5"
              >
                <span className="min-w-0">
                  <span className="block truncate font-medium">{one.appName ?? t("unknownApp")}</span>
                  <span className="block truncate text-xs text-soft">{one.model ?? "–"}</span>
                </span>
                <span className="text-right">
                  <Badge tone="danger">{outcomeText(one.code)}</Badge>
                  <span className="mt-0.5 block text-xs text-soft">
                    <Ago ms={one.atMs} nowMs={view.readAtMs} timeZone={view.organisation.timeZone} />
                  </span>
                </span>
              </Link>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}
