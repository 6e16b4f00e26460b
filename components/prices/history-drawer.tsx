"use client";
import { useLocale, useTranslations } from "next-intl";
import type { ReactElement } from "react";
import { dateTimeText } from "@/components/format/time";
import { QueryView } from "@/components/query/query-view";
import { Badge } from "@/components/ui/badge";
import { DialogFrame } from "@/components/ui/dialog";
import { SkeletonCards } from "@/components/ui/skeleton";
import type { PriceBook, PricedModel } from "@/lib/contracts/prices";
import { rateLines } from "./rate-text";
import { RateList } from "./rates";
import { usePriceHistory } from "./use-prices";

interface DrawerProps {
  readonly book: PriceBook;
  readonly model: PricedModel;
  readonly onClose: () => void;
}

export function PriceHistoryDrawer({ book, model, onClose }: DrawerProps): ReactElement {
  const t = useTranslations("prices");
  const locale = useLocale();
  const found = usePriceHistory(model.id);
  const at = (ms: number): string => dateTimeText(ms, locale, book.organisation.timeZone);
  return (
    <DialogFrame
      shape="drawer"
      onClose={onClose}
      title={t("historyTitle", { name: model.name })}
      description={t("historyLead")}
    >
      <QueryView
        query={found}
        skeleton={<SkeletonCards count={2} />}
        empty={({ prices }) => (prices.length === 0 ? { title: t("historyEmpty") } : null)}
      >
        {({ prices }) => (
          <ol className="grid gap-4">
            {prices.map((price) => (
              <li key={price.id} className="rounded-lg border px-3.5 py-3">
                <p className="mb-2 flex flex-wrap items-center gap-x-2 text-[0.8125rem]">
                  <span className="figures font-medium">
                    {price.effectiveToMs === null
                      ? t("openSpan", { from: at(price.effectiveFromMs) })
                      : t("span", { from: at(price.effectiveFromMs), to: at(price.effectiveToMs) })}
                  </span>
                  {price.id === model.price?.id ? <Badge tone="good">{t("inForce")}</Badge> : null}
                  <span className="text-xs text-soft">{`${price.currency} · ${price.source}`}</span>
                </p>
                <RateList lines={rateLines(price.rates)} />
              </li>
            ))}
          </ol>
        )}
      </QueryView>
    </DialogFrame>
  );
}
