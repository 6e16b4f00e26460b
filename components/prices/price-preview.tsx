"use client";
import { TriangleAlert } from "lucide-react";
import { useLocale, useTranslations } from "next-intl";
import { useState } from "react";
import type { ReactElement } from "react";
import { dateText } from "@/components/format/time";
import { Badge } from "@/components/ui/badge";
import { Button } from "@/components/ui/button";
import { cn } from "@/components/ui/cn";
import { Card, CardHeader } from "@/components/ui/card";
import { Choice } from "@/components/ui/field";
import type { PriceImportPreview } from "@/lib/contracts/price-imports";
import { grouped, isOfToken, shownRate } from "./rate-text";
import { RateName } from "./rates";

type Change = PriceImportPreview["changes"][number];

interface PreviewProps {
  readonly preview: PriceImportPreview;
  readonly timeZone: string;
  readonly confirmed: readonly string[];
  readonly onConfirm: (model: string, isConfirmed: boolean) => void;
}

const SHOWN = 50;

/** What needs a person first, then what was noticed, then the rest. */
function weightOf(change: Change): number {
  return change.needsConfirmation ? 0 : change.warnings.length > 0 ? 1 : 2;
}

function Rate({ path, text }: { readonly path: string; readonly text: string | null }): ReactElement {
  const t = useTranslations("prices");
  if (text === null) return <span className="text-soft">–</span>;
  return (
    <>
      {shownRate(path, text)}
      {isOfToken(path) ? <span className="text-xs text-soft">{` ${t("perMillion")}`}</span> : null}
    </>
  );
}

function RateTable({ change }: { readonly change: Change }): ReactElement {
  const t = useTranslations("imports");
  const cell = "py-1 max-sm:block";
  return (
    <table className="figures w-full text-[0.8125rem] max-sm:block">
      <thead className="text-left text-xs text-soft max-sm:hidden">
        <tr>
          <th className="py-1 pr-3 font-medium">{t("col.rate")}</th>
          <th className="px-3 py-1 text-right font-medium">{t("col.before")}</th>
          <th className="px-3 py-1 text-right font-medium">{t("col.after")}</th>
          <th className="py-1 pl-3 text-right font-medium">{t("col.factor")}</th>
        </tr>
      </thead>
      <tbody className="max-sm:block">
        {change.rates.map((rate) => (
          <tr key={rate.path} className="border-t max-sm:block max-sm:py-1.5">
            <td className={`${cell} pr-3 max-sm:font-medium`}>
              <RateName path={rate.path} />
            </td>
            <td className={`${cell} text-right break-all sm:px-3 max-sm:text-left`}>
              <span className="mr-2 text-xs text-soft sm:hidden">{t("col.before")}</span>
              <Rate path={rate.path} text={rate.before} />
            </td>
            <td className={`${cell} text-right font-medium break-all sm:px-3 max-sm:text-left`}>
              <span className="mr-2 text-xs font-normal text-soft sm:hidden">{t("col.after")}</span>
              <Rate path={rate.path} text={rate.after} />
            </td>
            <td
              className={cn(
                cell,
                "text-right text-soft sm:pl-3 max-sm:text-left",
                rate.factor === null && "max-sm:hidden",
              )}
            >
              <span className="mr-2 text-xs sm:hidden">{t("col.factor")}</span>
              {rate.factor === null ? "–" : `× ${grouped(rate.factor)}`}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Warnings({ change }: { readonly change: Change }): ReactElement | null {
  const t = useTranslations("imports");
  if (change.warnings.length === 0) return null;
  return (
    <ul className="mt-2 grid gap-1 text-[0.8125rem]">
      {change.warnings.map((warning) => (
        <li key={`${warning.code}${warning.path}`} className="flex items-start gap-1.5 text-warn-ink">
          <TriangleAlert aria-hidden className="mt-0.5 size-3.5 shrink-0" />
          <span>
            <RateName path={warning.path} />
            {`: ${
              t.has(`warnings.${warning.code as "hundredfold_of_last"}`)
                ? t(`warnings.${warning.code as "hundredfold_of_last"}`)
                : warning.code
            }`}
          </span>
        </li>
      ))}
    </ul>
  );
}

function ChangeItem({
  change,
  timeZone,
  confirmed,
  onConfirm,
}: Omit<PreviewProps, "preview"> & { readonly change: Change }): ReactElement {
  const t = useTranslations("imports");
  const locale = useLocale();
  const { model, kind, currencyBefore, currencyAfter, effectiveFromMs, effectiveToMs } = change;
  const isOtherMoney = currencyBefore !== null && currencyBefore !== currencyAfter;
  const date = (ms: number): string => dateText(ms, locale, timeZone);
  return (
    <li className="border-t px-4 py-3 sm:px-5" data-change={model}>
      <p className="mb-1.5 flex flex-wrap items-center gap-x-2 gap-y-1 text-[0.8125rem]">
        <span className="font-medium break-all">{model}</span>
        <Badge tone={kind === "added" ? "good" : "brand"}>{t(`kinds.${kind}`)}</Badge>
        <span className="text-soft">
          {isOtherMoney ? t("otherMoney", { before: currencyBefore, after: currencyAfter ?? "–" }) : currencyAfter}
          {` · ${effectiveFromMs === null ? t("fromNow") : t("from", { at: date(effectiveFromMs) })}`}
          {effectiveToMs === null ? "" : ` · ${t("to", { at: date(effectiveToMs) })}`}
        </span>
      </p>
      <RateTable change={change} />
      <Warnings change={change} />
      {change.needsConfirmation ? (
        <div className="mt-2 rounded-md border border-rung-warn/50 bg-warn-soft px-3 py-1">
          <Choice
            type="checkbox"
            label={t("confirm", { model })}
            checked={confirmed.includes(model)}
            onChange={(event) => onConfirm(model, event.target.checked)}
          />
        </div>
      ) : null}
    </li>
  );
}

/** What the file would change, model by model. */
export function PricePreview(props: PreviewProps): ReactElement {
  const t = useTranslations("imports");
  const [showsAll, setShowsAll] = useState(false);
  const { changes, unchanged, unmatched } = props.preview;
  const sorted = changes.toSorted((a, b) => weightOf(a) - weightOf(b));
  // What must be confirmed is always in sight.
  const asked = sorted.filter((change) => change.needsConfirmation).length;
  const shown = showsAll ? sorted : sorted.slice(0, Math.max(SHOWN, asked));
  return (
    <Card data-testid="import-preview">
      <CardHeader
        title={t("previewTitle", { count: changes.length })}
        note={unchanged === 0 ? undefined : t("unchanged", { count: unchanged })}
      />
      {unmatched.length === 0 ? null : (
        <details className="px-4 pb-3 text-[0.8125rem] text-soft sm:px-5">
          <summary className="rounded-sm">{t("unmatched", { count: unmatched.length })}</summary>
          <p className="mt-1 break-words">{unmatched.join(", ")}</p>
        </details>
      )}
      <ul>
        {shown.map((change) => (
          <ChangeItem key={`${change.model} ${String(change.effectiveFromMs)}`} {...props} change={change} />
        ))}
      </ul>
      {shown.length === sorted.length ? null : (
        <div className="border-t p-3 text-center">
          <Button onClick={() => setShowsAll(true)}>{t("showAll", { count: sorted.length })}</Button>
        </div>
      )}
    </Card>
  );
}
