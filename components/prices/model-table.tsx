"use client";
import { Ellipsis, History, Pencil, Tag } from "lucide-react";
import { useLocale, useTranslations } from "next-intl";
import type { ReactElement } from "react";
import { dateText } from "@/components/format/time";
import { Badge } from "@/components/ui/badge";
import { Button } from "@/components/ui/button";
import { cn } from "@/components/ui/cn";
import { Menu, MenuContent, MenuItem, MenuTrigger } from "@/components/ui/menu";
import type { PriceBook, PricedModel } from "@/lib/contracts/prices";
import type { PricePanel } from "./price-panel";
import { MAIN_RATES, otherRates, shownRate } from "./rate-text";
import { RateList } from "./rates";

interface TableProps {
  readonly book: PriceBook;
  readonly onOpen: (panel: PricePanel) => void;
}

interface RowProps extends TableProps {
  readonly model: PricedModel;
}

const cell = "px-3 py-2.5 align-top max-lg:block max-lg:px-4 max-lg:py-0.5";

function Label({ text }: { readonly text: string }): ReactElement {
  return <span className="mr-2 text-xs text-soft lg:hidden">{text}</span>;
}

function Rates({ model }: { readonly model: PricedModel }): ReactElement {
  const t = useTranslations("prices");
  const { price } = model;
  if (price === null) {
    return (
      <td colSpan={5} className={cn(cell, "text-[0.8125rem] text-warn-ink")}>
        {t(model.disabled ? "noPriceDisabled" : "noPrice")}
      </td>
    );
  }
  const others = otherRates(price.rates);
  return (
    <>
      {MAIN_RATES.map((name) => (
        <td key={name} className={cn(cell, "figures text-right whitespace-nowrap max-lg:text-left")}>
          <Label text={t(`rates.${name}`)} />
          {price.rates[name] === undefined ? <span className="text-soft">–</span> : shownRate(name, price.rates[name])}
        </td>
      ))}
      <td className={cn(cell, "whitespace-nowrap")}>
        <Label text={t("col.currency")} />
        {price.currency}
        {model.isConvertible ? null : (
          <Badge tone="danger" className="ml-1.5" title={t("noRateHint")}>
            {t("noRate")}
          </Badge>
        )}
      </td>
      <td className={cn(cell, "min-w-40")}>
        {others.length === 0 ? (
          <span className="text-soft max-lg:hidden">–</span>
        ) : (
          <details>
            <summary className="rounded-sm py-1 text-brand max-md:py-3">
              {t("others", { count: others.length })}
            </summary>
            <div className="mt-1.5">
              <RateList lines={others} />
            </div>
          </details>
        )}
      </td>
    </>
  );
}

function Since({ model, timeZone }: { readonly model: PricedModel; readonly timeZone: string }): ReactElement {
  const t = useTranslations("prices");
  const locale = useLocale();
  const { price, next } = model;
  const date = (ms: number): string => dateText(ms, locale, timeZone);
  return (
    <td className={cn(cell, "text-xs text-soft")}>
      {price === null ? null : (
        <span className="block">
          {t("since", { at: date(price.effectiveFromMs) })}
          {` · ${price.source}`}
        </span>
      )}
      {price?.effectiveToMs == null || next !== null ? null : (
        <span className="block text-warn-ink">{t("until", { at: date(price.effectiveToMs) })}</span>
      )}
      {next === null ? null : (
        <span className="block text-warn-ink">{t("nextFrom", { at: date(next.effectiveFromMs) })}</span>
      )}
    </td>
  );
}

function Actions({ book, model, onOpen }: RowProps): ReactElement {
  const t = useTranslations("prices");
  return (
    <td className="px-2 py-2 text-right align-top max-lg:absolute max-lg:top-1 max-lg:right-1">
      <Menu>
        <MenuTrigger asChild>
          <Button variant="ghost" size="iconSm" aria-label={t("actionsOf", { name: model.name })}>
            <Ellipsis aria-hidden />
          </Button>
        </MenuTrigger>
        <MenuContent>
          <MenuItem onSelect={() => onOpen({ kind: "history", model })}>
            <History aria-hidden /> {t("history")}
          </MenuItem>
          {book.canWritePrices ? (
            <MenuItem onSelect={() => onOpen({ kind: "price", model })}>
              <Tag aria-hidden /> {t("newPrice")}
            </MenuItem>
          ) : null}
          {book.canWriteModels ? (
            <MenuItem onSelect={() => onOpen({ kind: "model", model })}>
              <Pencil aria-hidden /> {t("editModel")}
            </MenuItem>
          ) : null}
        </MenuContent>
      </Menu>
    </td>
  );
}

function Row(props: RowProps): ReactElement {
  const t = useTranslations("prices");
  const { model, book } = props;
  return (
    <tr
      className={cn("max-lg:relative max-lg:block max-lg:border-t max-lg:py-2.5", model.disabled && "text-soft")}
      data-model={model.name}
    >
      <th scope="row" className={cn(cell, "text-left font-normal max-lg:pr-14")}>
        <span className="font-medium break-all">{model.name}</span>
        <span className="mt-0.5 flex flex-wrap gap-1.5 text-xs text-soft">
          {t(`kinds.${model.kind}`)}
          {model.isExternal ? ` · ${t("external")}` : ""}
          {model.disabled ? <Badge>{t("disabled")}</Badge> : null}
        </span>
      </th>
      <Rates model={model} />
      <Since model={model} timeZone={book.organisation.timeZone} />
      <Actions {...props} />
    </tr>
  );
}

export function ModelTable({ book, onOpen }: TableProps): ReactElement {
  const t = useTranslations("prices");
  const head = "sticky top-14 z-10 bg-surface px-3 py-2 font-medium shadow-[inset_0_-1px_0_var(--line)]";
  return (
    <table className="w-full border-separate border-spacing-0 text-[0.8125rem] max-lg:block lg:[&_tbody_tr>*]:border-t">
      <thead className="text-left text-xs text-soft max-lg:hidden">
        <tr>
          <th className={cn(head, "rounded-tl-xl")}>{t("col.model")}</th>
          {MAIN_RATES.map((name) => (
            <th key={name} className={cn(head, "text-right")}>
              {t(`col.${name}`)}
            </th>
          ))}
          <th className={head}>{t("col.currency")}</th>
          <th className={head}>{t("col.others")}</th>
          <th className={head}>{t("col.since")}</th>
          <th className={cn(head, "rounded-tr-xl")}>
            <span className="sr-only">{t("col.actions")}</span>
          </th>
        </tr>
      </thead>
      <tbody className="max-lg:block">
        {book.models.map((model) => (
          <Row key={model.id} model={model} book={book} onOpen={onOpen} />
        ))}
      </tbody>
    </table>
  );
}
