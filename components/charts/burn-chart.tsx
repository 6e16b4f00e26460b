"use client";
import { useLocale, useTranslations } from "next-intl";
import { useSyncExternalStore } from "react";
import type { ReactElement } from "react";
import {
  Area,
  CartesianGrid,
  ComposedChart,
  Line,
  ReferenceLine,
  ResponsiveContainer,
  Tooltip,
  XAxis,
  YAxis,
} from "recharts";
import { compactText, moneyText } from "@/components/format/money";
import { dayOfMonthText } from "@/components/format/time";
import { niceTop } from "./nice-top";
import type { SpendPoint, SpendSeries } from "./spend-series";

interface BurnChartProps {
  readonly series: SpendSeries;
  readonly timeZone: string;
  readonly label: string;
}

interface TipProps {
  readonly active?: boolean;
  readonly payload?: readonly { readonly payload?: SpendPoint }[];
}

const noChange = (): (() => void) => () => undefined;
/** Until its place is measured, in pixels: an empty frame would look like missing data. */
const FIRST_SIZE = { width: 640, height: 240 };

/** Charts measure their place, so they are drawn in the browser only. */
function useInBrowser(): boolean {
  return useSyncExternalStore(
    noChange,
    () => true,
    () => false,
  );
}

function Tip({ active, payload, timeZone }: TipProps & { readonly timeZone: string }): ReactElement | null {
  const t = useTranslations("charts");
  const locale = useLocale();
  const point = payload?.[0]?.payload;
  if (active !== true || point === undefined) return null;
  return (
    <div className="figures rounded-md border bg-surface px-3 py-2 text-xs shadow-float">
      <p className="font-medium">{dayOfMonthText(point.atMs - 1, locale, timeZone)}</p>
      {point.spentNanos === null ? null : <p>{t("spentAt", { amount: moneyText(point.spentNanos, locale) })}</p>}
      {point.pace === null ? null : (
        <p className="text-soft">{t("paceAt", { amount: moneyText(BigInt(Math.round(point.pace * 1e9)), locale) })}</p>
      )}
    </div>
  );
}

export function BurnChart({ series, timeZone, label }: BurnChartProps): ReactElement | null {
  const locale = useLocale();
  const inBrowser = useInBrowser();
  if (!inBrowser) return null;
  const limit = series.limitNanos === null ? undefined : Number(series.limitNanos) / 1e9;
  const spent = Number(series.totalNanos) / 1e9;
  const tick = { fill: "var(--ink-soft)", fontSize: 11 };
  return (
    <ResponsiveContainer width="100%" height="100%" initialDimension={FIRST_SIZE}>
      <ComposedChart
        data={[...series.points]}
        margin={{ top: 16, right: 12, bottom: 0, left: 0 }}
        title={label}
        accessibilityLayer
      >
        <defs>
          <linearGradient id="burn-water" x1="0" y1="0" x2="0" y2="1">
            <stop offset="0" stopColor="var(--series-1)" stopOpacity={0.3} />
            <stop offset="1" stopColor="var(--series-1)" stopOpacity={0.03} />
          </linearGradient>
        </defs>
        <CartesianGrid vertical={false} stroke="var(--line)" />
        <XAxis
          dataKey="atMs"
          type="number"
          scale="time"
          domain={["dataMin", "dataMax"]}
          tickFormatter={(value: number) => dayOfMonthText(value, locale, timeZone)}
          tick={tick}
          tickLine={false}
          axisLine={{ stroke: "var(--line-strong)" }}
          minTickGap={36}
        />
        <YAxis
          width={52}
          domain={[0, niceTop(Math.max(spent, limit ?? 0))]}
          tickFormatter={(value: number) => compactText(value, locale)}
          tick={tick}
          tickLine={false}
          axisLine={false}
        />
        <Tooltip content={<Tip timeZone={timeZone} />} cursor={{ stroke: "var(--line-strong)" }} />
        {limit === undefined ? null : <ReferenceLine y={limit} stroke="var(--rung-exhausted)" strokeWidth={1.5} />}
        <Line dataKey="pace" stroke="var(--line-strong)" strokeDasharray="5 4" dot={false} isAnimationActive={false} />
        <Area
          dataKey="spent"
          stroke="var(--series-1)"
          strokeWidth={2.25}
          fill="url(#burn-water)"
          isAnimationActive={false}
          activeDot={{ r: 4 }}
        />
      </ComposedChart>
    </ResponsiveContainer>
  );
}
