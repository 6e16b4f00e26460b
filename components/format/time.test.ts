import { describe, expect, it } from "vitest";
import { dateTimeText, localDate, relativeText, resetText, utcText, zoneText } from "./time";

const NEW_YEAR_SHANGHAI = Date.UTC(2026, 11, 31, 16, 0, 0);

describe("time text", () => {
  it("is in the organisation's zone, whatever the machine's is", () => {
    expect(dateTimeText(NEW_YEAR_SHANGHAI, "en", "Asia/Shanghai")).toBe("1 Jan 2027, 00:00");
    expect(dateTimeText(NEW_YEAR_SHANGHAI, "en", "America/New_York")).toBe("31 Dec 2026, 11:00");
    expect(resetText(NEW_YEAR_SHANGHAI, "zh-CN", "Asia/Shanghai")).toBe("1月1日 00:00");
  });

  it("in a file is the date of the zone and the instant in UTC", () => {
    expect(localDate(NEW_YEAR_SHANGHAI, "Asia/Shanghai")).toBe("2027-01-01");
    expect(localDate(NEW_YEAR_SHANGHAI, "America/New_York")).toBe("2026-12-31");
    expect(utcText(NEW_YEAR_SHANGHAI)).toBe("2026-12-31 16:00:00 UTC");
  });

  it("shows midnight as 00:00, never 24:00", () => {
    expect(resetText(NEW_YEAR_SHANGHAI, "en", "Asia/Shanghai")).toContain("00:00");
  });

  it("names the zone with its offset at that instant", () => {
    expect(zoneText(NEW_YEAR_SHANGHAI, "Asia/Shanghai")).toBe("Asia/Shanghai (UTC+8)");
    expect(zoneText(Date.UTC(2026, 6, 1), "Europe/Berlin")).toBe("Europe/Berlin (UTC+2)");
    expect(zoneText(NEW_YEAR_SHANGHAI, "Europe/Berlin")).toBe("Europe/Berlin (UTC+1)");
    expect(zoneText(NEW_YEAR_SHANGHAI, "UTC")).toBe("UTC");
  });

  it("gives distances in the largest sensible unit", () => {
    expect(relativeText(0, 5 * 60_000, "en")).toBe("5 min. ago");
    expect(relativeText(3 * 86_400_000, 0, "zh-CN")).toBe("3天后");
  });
});
