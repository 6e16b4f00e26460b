/**
 * Budget periods: half-open spans [start, end) of calendar time in the organisation's time zone.
 *
 * A period runs from the first instant of its first local date to the first instant of the next period's first local
 * date. So a day may have 23 or 25 hours, starts late where midnight does not exist, and never overlaps its neighbour:
 * an instant belongs to the period that started last. A local date that a zone skipped altogether has no period.
 *
 * Months are calendar months; quarters and years start from the month in which the fiscal year starts.
 * Ids are part of Redis keys and ledger rows and must never change: kind letter plus the nominal first date
 * (`D2026-03-08`, `W2026-03-02`) or first month (`M2026-03`, `Q2026-01`, `Y2026-04`).
 *
 * All functions are pure and throw `RangeError` for an instant, calendar or id that makes no sense. Times are integer
 * milliseconds since the Unix epoch; supported local dates are the years 0001 to 9998.
 */
import { Temporal } from "temporal-polyfill";

export const PERIOD_KINDS = ["day", "week", "month", "quarter", "year"] as const;
export type PeriodKind = (typeof PERIOD_KINDS)[number];

/** How an organisation cuts time. `weekStartsOn` is an ISO weekday: 1 is Monday, 7 is Sunday. */
export interface PeriodCalendar {
  /** IANA name ("Asia/Shanghai") or a fixed offset ("+08:00"). */
  readonly timeZone: string;
  /** 1 to 12. */
  readonly fiscalYearStartMonth: number;
  readonly weekStartsOn: 1 | 7;
}

export interface Period {
  readonly id: string;
  /** First instant of the period. */
  readonly startMs: number;
  /** First instant after the period. */
  readonly endMs: number;
}

const LETTER_OF_KIND = { day: "D", week: "W", month: "M", quarter: "Q", year: "Y" } as const;
const KIND_OF_LETTER = new Map<string, PeriodKind>(PERIOD_KINDS.map((kind) => [LETTER_OF_KIND[kind], kind]));
const LENGTH_OF_KIND = {
  day: { days: 1 },
  week: { days: 7 },
  month: { months: 1 },
  quarter: { months: 3 },
  year: { months: 12 },
} as const;
const ID = /^([DWMQY])(\d{4}-\d{2})(-\d{2})?$/;
const MIN_YEAR = 1;
const MAX_YEAR = 9998;

/** The one period of this kind that contains the instant. */
export function periodAt(kind: PeriodKind, instantMs: number, calendar: PeriodCalendar): Period {
  assertCalendar(calendar);
  if (!Number.isSafeInteger(instantMs)) throw new RangeError("An instant must be an integer of milliseconds");
  const local = Temporal.Instant.fromEpochMilliseconds(instantMs).toZonedDateTimeISO(calendar.timeZone).toPlainDate();
  if (local.year < MIN_YEAR || local.year > MAX_YEAR) throw new RangeError("The instant is out of the supported years");
  let first = firstDateOf(kind, local, calendar);
  let period = periodFrom(kind, first, calendar);
  // Where clocks go back across midnight the old date is shown again after the new one has begun; by the rule above
  // those instants belong to the new one. A date skipped by the zone gives an empty span, which is passed over too.
  while (instantMs >= period.endMs) {
    first = first.add(LENGTH_OF_KIND[kind]);
    period = periodFrom(kind, first, calendar);
  }
  return period;
}

/**
 * The period with this id under this calendar. Throws when the id is malformed, names no real date, is not the first
 * date of a period under this calendar (for example after the fiscal year was moved), or names a skipped date.
 */
export function periodFromId(id: string, calendar: PeriodCalendar): Period {
  assertCalendar(calendar);
  const kind = kindOfPeriodId(id);
  const first = Temporal.PlainDate.from(isDateLike(kind) ? id.slice(1) : `${id.slice(1)}-01`);
  if (first.year < MIN_YEAR || first.year > MAX_YEAR) throw new RangeError(`Period out of the supported years: ${id}`);
  if (!firstDateOf(kind, first, calendar).equals(first)) {
    throw new RangeError(`No ${kind} of this calendar starts on ${first.toString()}`);
  }
  const period = periodFrom(kind, first, calendar);
  if (period.endMs <= period.startMs) throw new RangeError(`${id} was skipped in ${calendar.timeZone}`);
  return period;
}

/** The kind that an id was made for. Throws when the text is not a period id. */
export function kindOfPeriodId(id: string): PeriodKind {
  const match = ID.exec(id);
  const kind = KIND_OF_LETTER.get(match?.[1] ?? "");
  if (match === null || kind === undefined || isDateLike(kind) !== (match[3] !== undefined)) {
    throw new RangeError("Not a period id");
  }
  return kind;
}

/** The period that ends where the given one starts. */
export function previousPeriod(period: Period, calendar: PeriodCalendar): Period {
  return periodAt(kindOfPeriodId(period.id), period.startMs - 1, calendar);
}

/** The period that starts where the given one ends. */
export function nextPeriod(period: Period, calendar: PeriodCalendar): Period {
  return periodAt(kindOfPeriodId(period.id), period.endMs, calendar);
}

/** Whether this runtime knows the zone. */
export function isTimeZone(timeZone: string): boolean {
  try {
    Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(timeZone);
    return true;
  } catch {
    return false;
  }
}

export interface PeriodCache {
  /** Same answer as `periodAt`, for an instant that is usually in the period asked for last. */
  at(kind: PeriodKind, instantMs: number): Period;
}

/**
 * Remembers the two periods last used of each kind (a period's end sees requests of both sides), so that the hot path
 * does calendar arithmetic once per period. At most ten entries; holds no clock and no global state.
 */
export function createPeriodCache(calendar: PeriodCalendar): PeriodCache {
  assertCalendar(calendar);
  const remembered = new Map<PeriodKind, { latest: Period; earlier: Period }>();
  return {
    at(kind, instantMs) {
      const entry = remembered.get(kind);
      if (entry !== undefined) {
        if (instantMs >= entry.latest.startMs && instantMs < entry.latest.endMs) return entry.latest;
        if (instantMs >= entry.earlier.startMs && instantMs < entry.earlier.endMs) return entry.earlier;
      }
      const period = periodAt(kind, instantMs, calendar);
      remembered.set(kind, { latest: period, earlier: entry?.latest ?? period });
      return period;
    },
  };
}

function assertCalendar(calendar: PeriodCalendar): void {
  const { fiscalYearStartMonth, weekStartsOn } = calendar;
  if (!Number.isInteger(fiscalYearStartMonth) || fiscalYearStartMonth < 1 || fiscalYearStartMonth > 12) {
    throw new RangeError("fiscalYearStartMonth must be an integer from 1 to 12");
  }
  if (weekStartsOn !== 1 && weekStartsOn !== 7) throw new RangeError("weekStartsOn must be 1 (Monday) or 7 (Sunday)");
}

/** Days and weeks are named by their first date, longer periods by their first month. */
function isDateLike(kind: PeriodKind): boolean {
  return kind === "day" || kind === "week";
}

function firstDateOf(kind: PeriodKind, date: Temporal.PlainDate, calendar: PeriodCalendar): Temporal.PlainDate {
  if (kind === "day") return date;
  if (kind === "week") return date.subtract({ days: (date.dayOfWeek - calendar.weekStartsOn + 7) % 7 });
  const monthOfYear = (date.month - calendar.fiscalYearStartMonth + 12) % 12;
  const monthsIn = kind === "month" ? 0 : kind === "quarter" ? monthOfYear % 3 : monthOfYear;
  return date.with({ day: 1 }).subtract({ months: monthsIn });
}

function periodFrom(kind: PeriodKind, first: Temporal.PlainDate, calendar: PeriodCalendar): Period {
  const name = first.toString();
  return {
    id: LETTER_OF_KIND[kind] + (isDateLike(kind) ? name : name.slice(0, 7)),
    startMs: startOfDateMs(first, calendar.timeZone),
    endMs: startOfDateMs(first.add(LENGTH_OF_KIND[kind]), calendar.timeZone),
  };
}

/** The first instant of a local date: midnight, or the first instant after a gap that swallowed it. */
function startOfDateMs(date: Temporal.PlainDate, timeZone: string): number {
  return date.toZonedDateTime(timeZone).epochMilliseconds;
}
