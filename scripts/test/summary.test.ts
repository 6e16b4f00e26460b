import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { throwAwayFolder } from "@/lib/services/throw-away";
import { closingLine, countsFrom, countsOfPlaywright, countsOfVitest, sum } from "./summary";

const report = (content: string): string => {
  const file = join(throwAwayFolder("summary"), "report.json");
  writeFileSync(file, content);
  return file;
};
const vitest = { numPassedTests: 7, numFailedTests: 0, numPendingTests: 1, numTodoTests: 1, success: true };
const playwright = { stats: { expected: 3, unexpected: 1, flaky: 1, skipped: 2 }, errors: [] };

describe("the sum of the test results", () => {
  it("reads both kinds of report", () => {
    expect(countsOfVitest(vitest)).toEqual({ passed: 7, failed: 0, skipped: 2 });
    expect(countsOfPlaywright(playwright)).toEqual({ passed: 3, failed: 2, skipped: 2 });
  });

  it("counts a run that failed without a failed test as a failure", () => {
    expect(countsOfVitest({ ...vitest, success: false }).failed).toBe(1);
    expect(countsFrom(report(JSON.stringify(vitest)), countsOfVitest, false).failed).toBe(1);
    expect(countsOfPlaywright({ stats: { ...playwright.stats, unexpected: 0, flaky: 0 }, errors: [{}] }).failed).toBe(
      1,
    );
  });

  it("counts a report that is missing or damaged as a failure", () => {
    expect(countsFrom("/nowhere/report.json", countsOfVitest, true)).toEqual({ passed: 0, failed: 1, skipped: 0 });
    expect(countsFrom(report("{"), countsOfVitest, true).failed).toBe(1);
    expect(countsFrom(report("{}"), countsOfPlaywright, true).failed).toBe(1);
  });

  it("ends in one plain line", () => {
    const total = sum([countsOfVitest(vitest), countsOfPlaywright(playwright)]);
    expect(closingLine(total)).toBe("10 passed, 2 failed, 4 skipped");
    expect(closingLine({ passed: 1, failed: 0, skipped: 0 })).toBe("1 passed, 0 failed");
  });
});
