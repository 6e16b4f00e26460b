"use client";
import { useLocale, useTranslations } from "next-intl";
import type { ReactElement } from "react";
import { dateText } from "@/components/format/time";
import { Card, CardHeader } from "@/components/ui/card";
import type { PriceBook } from "@/lib/contracts/prices";

/** The exchange rates that hold at the moment of the book. */
export function FxCard({ book }: { readonly book: PriceBook }): ReactElement {
  const t = useTranslations("prices");
  const locale = useLocale();
  const { currency, timeZone } = book.organisation;
  return (
    <Card aria-labelledby="prices-fx">
      <CardHeader id="prices-fx" title={t("fxTitle")} note={t("fxNote", { currency })} />
      {book.fx.length === 0 ? (
        <p className="px-4 pb-4 text-[0.8125rem] text-soft sm:px-5">{t("fxEmpty")}</p>
      ) : (
        <ul className="divide-y border-t text-[0.8125rem]">
          {book.fx.map(({ id, base, quote, rate, source, effectiveFromMs }) => (
            <li key={id} className="flex flex-wrap items-baseline justify-between gap-x-4 px-4 py-2 sm:px-5">
              <span className="figures font-medium">{t("fxRate", { base, rate, quote })}</span>
              <span className="text-xs text-soft">
                {t("since", { at: dateText(effectiveFromMs, locale, timeZone) })}
                {` · ${source}`}
              </span>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}
