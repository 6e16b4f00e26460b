import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  createPeriodCache,
  isTimeZone,
  kindOfPeriodId,
  nextPeriod,
  PERIOD_KINDS,
  type Period,
  periodAt,
  type PeriodCalendar,
  periodFromId,
  previousPeriod,
} from "./period";

const HOUR_MS = 3_600_000;
const ZONES = [
  "UTC",
  "America/New_York",
  "America/Sao_Paulo",
  "America/St_Johns",
  "America/Havana",
  "Africa/Cairo",
  "Asia/Beirut",
  "Asia/Shanghai",
  "Asia/Kolkata",
  "Asia/Kathmandu",
  "Australia/Lord_Howe",
  "Europe/Lisbon",
  "Pacific/Apia",
  "Pacific/Kwajalein",
  "+08:00",
];

const calendars: fc.Arbitrary<PeriodCalendar> = fc.record({
  timeZone: fc.constantFrom(...ZONES),
  fiscalYearStartMonth: fc.integer({ min: 1, max: 12 }),
  weekStartsOn: fc.constantFrom(1, 7),
});
const kinds = fc.constantFrom(...PERIOD_KINDS);
const instants = fc.integer({ min: Date.UTC(1960, 0, 1), max: Date.UTC(2060, 0, 1) });

function calendarOf(timeZone: string, fiscalYearStartMonth = 1, weekStartsOn: 1 | 7 = 1): PeriodCalendar {
  return { timeZone, fiscalYearStartMonth, weekStartsOn };
}

function hoursOf(period: Period): number {
  return (period.endMs - period.startMs) / HOUR_MS;
}

function at(kind: (typeof PERIOD_KINDS)[number], iso: string, calendar: PeriodCalendar): Period {
  return periodAt(kind, Date.parse(iso), calendar);
}

describe("any period", () => {
  it("contains the instant it was asked for", () => {
    fc.assert(
      fc.property(kinds, instants, calendars, (kind, instantMs, calendar) => {
        const period = periodAt(kind, instantMs, calendar);
        expect(period.startMs).toBeLessThanOrEqual(instantMs);
        expect(period.endMs).toBeGreaterThan(instantMs);
      }),
      { numRuns: 300 },
    );
  });

  it("is the one period of its kind for every instant in it", () => {
    fc.assert(
      fc.property(
        kinds,
        instants,
        calendars,
        fc.double({ min: 0, max: 1, noNaN: true }),
        (kind, instantMs, calendar, share) => {
          const period = periodAt(kind, instantMs, calendar);
          const inside = period.startMs + Math.floor(share * (period.endMs - period.startMs - 1));
          for (const other of [period.startMs, inside, period.endMs - 1]) {
            expect(periodAt(kind, other, calendar)).toEqual(period);
          }
        },
      ),
      { numRuns: 200 },
    );
  });

  it("touches its neighbours without gap or overlap", () => {
    fc.assert(
      fc.property(kinds, instants, calendars, (kind, instantMs, calendar) => {
        const period = periodAt(kind, instantMs, calendar);
        const next = nextPeriod(period, calendar);
        expect(next.startMs).toBe(period.endMs);
        expect(next.id).not.toBe(period.id);
        expect(previousPeriod(next, calendar)).toEqual(period);
        expect(previousPeriod(period, calendar).endMs).toBe(period.startMs);
      }),
      { numRuns: 200 },
    );
  });

  it("is found again from its id", () => {
    fc.assert(
      fc.property(kinds, instants, calendars, (kind, instantMs, calendar) => {
        const period = periodAt(kind, instantMs, calendar);
        expect(kindOfPeriodId(period.id)).toBe(kind);
        expect(periodFromId(period.id, calendar)).toEqual(period);
      }),
      { numRuns: 200 },
    );
  });
});

describe("a run of days", () => {
  it.each(ZONES)("tiles two years in %s, in order", (timeZone) => {
    const calendar = calendarOf(timeZone);
    let day = at("day", "2010-12-31T12:00:00Z", calendar);
    for (let count = 0; count < 731; count += 1) {
      const next = nextPeriod(day, calendar);
      expect(next.startMs).toBe(day.endMs);
      expect(next.id > day.id).toBe(true);
      day = next;
    }
  });
});

describe("days", () => {
  it("last 23 and 25 hours when New York changes its clocks", () => {
    const calendar = calendarOf("America/New_York");
    const spring = at("day", "2026-03-08T12:00:00Z", calendar);
    expect(spring).toEqual({
      id: "D2026-03-08",
      startMs: Date.parse("2026-03-08T05:00:00Z"),
      endMs: Date.parse("2026-03-09T04:00:00Z"),
    });
    expect(hoursOf(spring)).toBe(23);
    expect(hoursOf(at("day", "2026-11-01T12:00:00Z", calendar))).toBe(25);
  });

  it("reset at 16:00Z in Shanghai (litellm#34896: the zone must not be dropped)", () => {
    const calendar = calendarOf("Asia/Shanghai");
    expect(at("day", "2026-05-04T15:59:59.999Z", calendar).id).toBe("D2026-05-04");
    const next = at("day", "2026-05-04T16:00:00Z", calendar);
    expect(next).toEqual({
      id: "D2026-05-05",
      startMs: Date.parse("2026-05-04T16:00:00Z"),
      endMs: Date.parse("2026-05-05T16:00:00Z"),
    });
  });

  it.each([
    ["Asia/Kolkata", "2026-01-01T18:30:00Z"],
    ["Asia/Kathmandu", "2026-01-01T18:15:00Z"],
  ])("start off the hour in %s", (timeZone, start) => {
    const day = at("day", "2026-01-02T00:00:00Z", calendarOf(timeZone));
    expect(day.id).toBe("D2026-01-02");
    expect(day.startMs).toBe(Date.parse(start));
  });

  it.each([
    ["Asia/Beirut", "2026-03-29", "2026-03-28T22:00:00Z"],
    ["Africa/Cairo", "2024-04-26", "2024-04-25T22:00:00Z"],
    ["America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00:00Z"],
  ])("start at 01:00 local where midnight does not exist in %s", (timeZone, date, start) => {
    const calendar = calendarOf(timeZone);
    const day = periodFromId(`D${date}`, calendar);
    expect(day.startMs).toBe(Date.parse(start));
    expect(hoursOf(day)).toBe(23);
    expect(periodAt("day", day.startMs - 1, calendar).endMs).toBe(day.startMs);
  });

  it("keep an instant whose old date is shown again after midnight in the new day", () => {
    // St John's went from 00:01 on 7 November 2010 back to 23:01 on the 6th.
    const calendar = calendarOf("America/St_Johns");
    const firstMidnight = Date.parse("2010-11-07T02:30:00Z");
    expect(periodAt("day", firstMidnight - 1, calendar).id).toBe("D2010-11-06");
    for (const afterMs of [0, 60_000, 30 * 60_000, HOUR_MS, 2 * HOUR_MS]) {
      expect(periodAt("day", firstMidnight + afterMs, calendar).id).toBe("D2010-11-07");
    }
  });

  it("pass over the date that Apia skipped", () => {
    const calendar = calendarOf("Pacific/Apia");
    const before = at("day", "2011-12-30T09:59:59Z", calendar);
    expect(before.id).toBe("D2011-12-29");
    const after = nextPeriod(before, calendar);
    expect(after.id).toBe("D2011-12-31");
    expect(previousPeriod(after, calendar)).toEqual(before);
    expect(() => periodFromId("D2011-12-30", calendar)).toThrow(RangeError);
    expect(hoursOf(at("week", "2011-12-28T00:00:00Z", calendar))).toBe(6 * 24);
  });
});

describe("weeks", () => {
  it("start on Monday or Sunday and are named by their first date", () => {
    expect(at("week", "2026-03-08T12:00:00Z", calendarOf("UTC")).id).toBe("W2026-03-02");
    expect(at("week", "2026-03-08T12:00:00Z", calendarOf("UTC", 1, 7)).id).toBe("W2026-03-08");
    expect(at("week", "2026-01-01T00:00:00Z", calendarOf("UTC")).id).toBe("W2025-12-29");
  });
});

describe("months, quarters and years", () => {
  it("follow the fiscal year", () => {
    const april = calendarOf("UTC", 4);
    expect(at("month", "2026-02-28T23:59:59Z", april).id).toBe("M2026-02");
    expect(at("quarter", "2026-02-28T23:59:59Z", april).id).toBe("Q2026-01");
    expect(at("year", "2026-03-31T23:59:59Z", april).id).toBe("Y2025-04");
    expect(at("year", "2026-04-01T00:00:00Z", april).id).toBe("Y2026-04");
    expect(at("quarter", "2026-01-31T00:00:00Z", calendarOf("UTC", 2)).id).toBe("Q2025-11");
  });

  it("know leap years and month ends", () => {
    const calendar = calendarOf("UTC");
    expect(hoursOf(at("month", "2028-02-29T12:00:00Z", calendar))).toBe(29 * 24);
    expect(hoursOf(at("month", "2026-02-15T12:00:00Z", calendar))).toBe(28 * 24);
    expect(hoursOf(at("year", "2028-06-01T00:00:00Z", calendar))).toBe(366 * 24);
    expect(at("month", "2026-01-31T23:59:59.999Z", calendar).endMs).toBe(Date.parse("2026-02-01T00:00:00Z"));
  });
});

describe("input that makes no sense", () => {
  const calendar = calendarOf("UTC");

  it.each([
    "",
    "D2026-03",
    "W2026-13-01",
    "D2026-02-30",
    "M2026-03-01",
    "X2026-03",
    "M2026-3",
    "d2026-03-08",
    "M0000-01",
  ])("refuses the id %j", (id) => {
    expect(() => periodFromId(id, calendar)).toThrow(RangeError);
  });

  it("refuses ids that are not the first date of a period of this calendar", () => {
    expect(() => periodFromId("Q2026-02", calendar)).toThrow(RangeError);
    expect(() => periodFromId("Y2026-04", calendar)).toThrow(RangeError);
    expect(() => periodFromId("W2026-03-08", calendar)).toThrow(RangeError);
  });

  it("refuses instants and calendars", () => {
    for (const instantMs of [Number.NaN, Number.POSITIVE_INFINITY, 0.5, Date.UTC(9999, 5, 1), 8.64e15]) {
      expect(() => periodAt("day", instantMs, calendar)).toThrow(RangeError);
    }
    expect(() => periodAt("day", 0, calendarOf("Mars/Olympus"))).toThrow(RangeError);
    expect(() => periodAt("day", 0, calendarOf("UTC", 13))).toThrow(RangeError);
    expect(() => periodAt("day", 0, calendarOf("UTC", 1, 3 as 1))).toThrow(RangeError);
  });

  it("tells known zones from unknown ones", () => {
    expect(ZONES.every(isTimeZone)).toBe(true);
    expect(isTimeZone("Mars/Olympus")).toBe(false);
  });
});

describe("createPeriodCache", () => {
  it("answers as periodAt does, whatever the order of instants", () => {
    fc.assert(
      fc.property(calendars, fc.array(fc.tuple(kinds, instants), { maxLength: 12 }), (calendar, questions) => {
        const cache = createPeriodCache(calendar);
        for (const [kind, instantMs] of questions) {
          const expected = periodAt(kind, instantMs, calendar);
          for (const near of [instantMs, expected.endMs, expected.startMs, expected.endMs - 1]) {
            expect(cache.at(kind, near)).toEqual(periodAt(kind, near, calendar));
          }
        }
      }),
      { numRuns: 40 },
    );
  });

  it("gives the same object on both sides of a period's end", () => {
    const cache = createPeriodCache(calendarOf("Asia/Shanghai"));
    const before = cache.at("day", Date.parse("2026-05-04T15:59:59Z"));
    const after = cache.at("day", Date.parse("2026-05-04T16:00:00Z"));
    expect(cache.at("day", Date.parse("2026-05-04T15:59:58Z"))).toBe(before);
    expect(cache.at("day", Date.parse("2026-05-04T16:00:01Z"))).toBe(after);
  });

  it("refuses a calendar that makes no sense at once", () => {
    expect(() => createPeriodCache(calendarOf("UTC", 0))).toThrow(RangeError);
  });
});
