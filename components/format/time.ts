/**
 * The one place where instants become text, always in the organisation's zone. A 24-hour clock is used in both
 * languages: it is what finance systems print, and it reads the same from server and browser.
 */

function format(ms: number, locale: string, timeZone: string, options: Intl.DateTimeFormatOptions): string {
  return new Intl.DateTimeFormat(tagOf(locale), { timeZone, hourCycle: "h23", ...options }).format(ms);
}

/** English dates with the day first: "29 Nov 2026". */
function tagOf(locale: string): string {
  return locale === "en" ? "en-GB" : locale;
}

export function dateTimeText(
  ms: number,
  locale: string,
  timeZone: string,
  precision: "minute" | "second" = "minute",
): string {
  return format(ms, locale, timeZone, {
    day: "numeric",
    month: "short",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    ...(precision === "second" ? { second: "2-digit" } : {}),
  });
}

/** For files: "2026-11-30", the date on the calendars of the zone. */
export function localDate(ms: number, timeZone: string): string {
  const options = { timeZone, year: "numeric", month: "2-digit", day: "2-digit" } as const;
  const parts = new Map(
    new Intl.DateTimeFormat("en-GB", options).formatToParts(ms).map((one) => [one.type, one.value]),
  );
  return [parts.get("year"), parts.get("month"), parts.get("day")].join("-");
}

/** For comparing with logs elsewhere: "2026-11-30 04:38:49 UTC". */
export function utcText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/** To the second, for logs. */
export function logTimeText(ms: number, locale: string, timeZone: string): string {
  return format(ms, locale, timeZone, {
    day: "numeric",
    month: "short",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
  });
}

/** To the second, alone. */
export function clockText(ms: number, locale: string, timeZone: string): string {
  return format(ms, locale, timeZone, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
}

export function dateText(ms: number, locale: string, timeZone: string): string {
  return format(ms, locale, timeZone, { day: "numeric", month: "short", year: "numeric" });
}

/** Short form for axes and "resets at": "1 Dec, 00:00". */
export function resetText(ms: number, locale: string, timeZone: string): string {
  return format(ms, locale, timeZone, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
}

export function dayOfMonthText(ms: number, locale: string, timeZone: string): string {
  return format(ms, locale, timeZone, { day: "numeric", month: "short" });
}

export function monthText(ms: number, locale: string, timeZone: string): string {
  return format(ms, locale, timeZone, { month: "long", year: "numeric" });
}

/** "Asia/Shanghai (UTC+8)": the zone by name and its offset at the instant. */
export function zoneText(ms: number, timeZone: string): string {
  const part = new Intl.DateTimeFormat("en", { timeZone, timeZoneName: "shortOffset" })
    .formatToParts(ms)
    .find((entry) => entry.type === "timeZoneName");
  const offset = part?.value.replace("GMT", "UTC") ?? "UTC";
  return timeZone === "UTC" ? "UTC" : `${timeZone} (${offset === "UTC" ? "UTC+0" : offset})`;
}

/** Distance between two instants in the largest sensible unit: "in 3 days", "2 分钟前". */
export function relativeText(ms: number, nowMs: number, locale: string): string {
  const seconds = Math.round((ms - nowMs) / 1000);
  const relative = new Intl.RelativeTimeFormat(locale, { numeric: "auto", style: "short" });
  const size = Math.abs(seconds);
  if (size < 60) return relative.format(seconds, "second");
  if (size < 3600) return relative.format(Math.trunc(seconds / 60), "minute");
  if (size < 172_800) return relative.format(Math.trunc(seconds / 3600), "hour");
  return relative.format(Math.trunc(seconds / 86_400), "day");
}

/** Milliseconds as "840 ms" or "12.3 s". */
export function durationText(ms: number, locale: string): string {
  const inSeconds = ms >= 1000;
  return new Intl.NumberFormat(locale, {
    style: "unit",
    unit: inSeconds ? "second" : "millisecond",
    unitDisplay: "short",
    maximumFractionDigits: inSeconds ? 1 : 0,
  }).format(inSeconds ? ms / 1000 : ms);
}
