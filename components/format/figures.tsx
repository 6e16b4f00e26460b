"use client";
import { useLocale } from "next-intl";
import type { ReactElement } from "react";
import type { Meter } from "@/lib/domain/snapshot";
import { nanosToDecimal } from "@/lib/domain/money";
import { amountOfMeter, callCostText, countText, moneyText } from "./money";
import { dateTimeText, relativeText } from "./time";

/** Money in a cell whose header names the currency. The exact amount is its title. */
export function Money({ nanos }: { readonly nanos: string }): ReactElement {
  const locale = useLocale();
  return (
    <span className="figures" title={nanosToDecimal(BigInt(nanos))}>
      {moneyText(nanos, locale)}
    </span>
  );
}

/** What single calls cost, one below the other. The exact amount is its title. */
export function CallCost({ nanos }: { readonly nanos: string }): ReactElement {
  const locale = useLocale();
  return (
    <span className="figures" title={nanosToDecimal(BigInt(nanos))}>
      {callCostText(nanos, locale)}
    </span>
  );
}

/** A figure that stands alone: small code, then the amount. */
export function MoneyWithCode({
  nanos,
  currency,
}: {
  readonly nanos: string;
  readonly currency: string;
}): ReactElement {
  const locale = useLocale();
  return (
    <span className="figures whitespace-nowrap" title={`${nanosToDecimal(BigInt(nanos))} ${currency}`}>
      <span className="mr-1 text-[0.6em] font-medium tracking-wide text-soft">{currency}</span>
      {moneyText(nanos, locale)}
    </span>
  );
}

export function MeterAmount({ amount, meter }: { readonly amount: string; readonly meter: Meter }): ReactElement {
  const locale = useLocale();
  return (
    <span className="figures" title={meter === "cost" ? nanosToDecimal(BigInt(amount)) : amount}>
      {amountOfMeter(amount, meter, locale)}
    </span>
  );
}

export function Count({ value }: { readonly value: string | number }): ReactElement {
  const locale = useLocale();
  return <span className="figures">{countText(value, locale)}</span>;
}

/** "2 min ago" with the absolute time beside it for assistive tech and on hover. */
export function Ago({
  ms,
  nowMs,
  timeZone,
}: {
  readonly ms: number;
  readonly nowMs: number;
  readonly timeZone: string;
}): ReactElement {
  const locale = useLocale();
  return (
    <time dateTime={new Date(ms).toISOString()} title={dateTimeText(ms, locale, timeZone)} className="figures">
      {relativeText(ms, nowMs, locale)}
    </time>
  );
}
