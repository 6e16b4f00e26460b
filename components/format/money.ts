/**
 * The one place where amounts become text. Amounts come as decimal integer text (nanos for money, a count otherwise);
 * the currency code is shown in labels and beside big figures, because a bare sign is ambiguous in Chinese and English.
 */
import { formatNanos } from "@/lib/domain/money";
import type { Meter } from "@/lib/domain/snapshot";

/** Money without its code, at least two digits, never "0.00" for an amount that is not zero: "12,345.67". */
export function moneyText(nanos: string | bigint, locale: string): string {
  return formatNanos(BigInt(nanos), { locale });
}

const TEN_THOUSANDTH_NANOS = 100_000n;

/** What one call cost, to the ten-thousandth, so that the points of a column stand below each other; further only for less. */
export function callCostText(nanos: string | bigint, locale: string): string {
  const amount = BigInt(nanos);
  const size = amount < 0n ? -amount : amount;
  return formatNanos(amount, size > 0n && size < TEN_THOUSANDTH_NANOS ? { locale } : { locale, digits: 4 });
}

/** To the millionth, and further only where the amount goes further: figures that are added up on the page must agree on it. */
export function exactMoneyText(nanos: string | bigint, locale: string): string {
  const amount = BigInt(nanos);
  return formatNanos(amount, { locale, digits: amount % 1000n === 0n ? 6 : 9 });
}

/** Money with its ISO code in front: "CNY 12,345.67". The space does not break. */
export function moneyWithCode(nanos: string | bigint, currency: string, locale: string): string {
  return `${currency}\u00a0${moneyText(nanos, locale)}`;
}

/** An amount of any meter, without its unit. */
export function amountOfMeter(amount: string | bigint, meter: Meter, locale: string): string {
  return meter === "cost" ? moneyText(amount, locale) : countText(amount, locale);
}

/** A whole number with grouping. */
export function countText(value: string | bigint | number, locale: string): string {
  return new Intl.NumberFormat(locale).format(typeof value === "string" ? BigInt(value) : value);
}

/** A short form for axes and narrow cells: "12.3K", "1.2万". Takes currency units or a count. */
export function compactText(value: number | bigint, locale: string): string {
  return new Intl.NumberFormat(locale, { notation: "compact", maximumFractionDigits: 1 }).format(value);
}

/** Basis points as a percentage: 9130 is "91.3 %" (91.3% in Chinese text). */
export function percentText(basisPoints: number, locale: string, digits = 1): string {
  return new Intl.NumberFormat(locale, {
    style: "percent",
    minimumFractionDigits: 0,
    maximumFractionDigits: digits,
  }).format(basisPoints / 10_000);
}

/** Ratio of two amounts in basis points, towards zero; null where the whole is zero. Exact beyond 2^53. */
export function ratioBasisPoints(part: bigint, whole: bigint): number | null {
  if (whole <= 0n) return null;
  const ratio = (part * 10_000n) / whole;
  return Number(ratio > 1_000_000n ? 1_000_000n : ratio);
}
