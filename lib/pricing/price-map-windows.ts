/** The off-peak block of the public price map (BerriAI/litellm PR 31725 and later) as price windows. */
import type { PriceRates, TokenRateTexts } from "@/lib/domain/price-rates";
import { numberText } from "./number-texts";

type Windows = NonNullable<PriceRates["windows"]>;
type Block = Readonly<Record<string, unknown>>;

const HOURS = /^(\d{2}:\d{2})-(\d{2}:\d{2})$/u;
const DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/**
 * `hours_utc` ("16:30-00:30" or a list) with optional `weekdays`, at the top of the block, in its `windows`, or both: each
 * opens by itself. ISO weekday numbers or English names. A block without hours is a problem: its rates would hold never
 * or always, and nobody said which.
 */
export function offPeakWindows(
  value: unknown,
  ratesOf: (block: Block) => TokenRateTexts,
  notes: { readonly problems: { readonly field: string; readonly message: string }[] },
): Windows {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [];
  const block = value as Block;
  const complain = (message: string): void => {
    notes.problems.push({ field: "off_peak_pricing", message });
  };
  const rates = ratesOf(block);
  const zone = typeof block.weekday_timezone === "string" ? { weekdayTimeZone: block.weekday_timezone } : {};
  const listed: unknown[] = Array.isArray(block.windows) ? block.windows : [];
  const spans = [block, ...listed.map((one) => (typeof one === "object" && one !== null ? (one as Block) : {}))];
  const windows = spans.flatMap((span, index) => {
    if (index === 0 && span.hours_utc === undefined) return [];
    const hours = hoursOf(span.hours_utc);
    const weekdays = weekdaysOf(span.weekdays);
    if (hours === undefined) complain('hours_utc is "HH:MM-HH:MM" or a list of such');
    if (weekdays === null) complain("weekdays are 1 (Monday) to 7, or English names");
    return hours === undefined || weekdays === null
      ? []
      : [{ hours, ...(weekdays ? { weekdays } : {}), ...zone, rates }];
  });
  if (windows.length === 0 && notes.problems.length === 0) complain("no hours are given");
  return windows;
}

function hoursOf(value: unknown): Windows[number]["hours"] | undefined {
  const texts: unknown[] = Array.isArray(value) ? value : [value];
  const spans = texts.map((text) => (typeof text === "string" ? HOURS.exec(text) : null));
  if (spans.some((span) => span === null)) return undefined;
  return spans.map((span) => ({ from: span?.[1] ?? "", to: span?.[2] ?? "" }));
}

/** Undefined: every day. Null: not readable. */
function weekdaysOf(value: unknown): number[] | null | undefined {
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value)) return null;
  const days = value.map((day: unknown) => {
    const text = (numberText(day) ?? String(day)).toLowerCase();
    return /^[1-7]$/u.test(text) ? Number(text) : DAYS.indexOf(text.slice(0, 3)) + 1;
  });
  return days.includes(0) ? null : days;
}
