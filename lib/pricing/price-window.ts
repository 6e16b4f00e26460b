/** Peak and off-peak hours of price rows. */
import { Temporal } from "temporal-polyfill";
import type { PriceWindow } from "@/lib/domain/price-rates";

function minutes(time: string): number {
  return Number(time.slice(0, 2)) * 60 + Number(time.slice(3, 5));
}

/**
 * Whether the window holds at an instant (Unix ms; calls are priced by their start). The first minute is in it, the last is
 * not; from after to wraps midnight; equal times are the whole day. Weekday and date are those of the instant itself in
 * their own zone, also past midnight, as the public price map reads them.
 * Throws RangeError for a zone that does not exist.
 */
export function isWindowOpen(window: PriceWindow, atMs: number): boolean {
  const timeZone = window.timeZone ?? "UTC";
  const instant = Temporal.Instant.fromEpochMilliseconds(Math.floor(atMs));
  const local = instant.toZonedDateTimeISO(timeZone);
  const now = local.hour * 60 + local.minute;
  const isInHours = window.hours.some((span) => {
    const from = minutes(span.from);
    const to = minutes(span.to);
    if (from === to) return true;
    return from < to ? now >= from && now < to : now >= from || now < to;
  });
  if (!isInHours) return false;
  const dayZone = window.weekdayTimeZone ?? timeZone;
  const day = dayZone === timeZone ? local : instant.toZonedDateTimeISO(dayZone);
  const date = day.toPlainDate().toString();
  if (window.closedDates?.includes(date)) return false;
  if (window.openDates?.includes(date)) return true;
  return window.weekdays?.includes(day.dayOfWeek) ?? true;
}
