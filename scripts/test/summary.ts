// Adds up what the runners report. A runner that fails without naming a failed test (a crash, a broken import, no report
// at all) counts as one failure: nothing may look green by not having run.
import { existsSync, readFileSync } from "node:fs";
import { z } from "zod";

export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

const vitestReport = z.object({
  numPassedTests: z.number(),
  numFailedTests: z.number(),
  numPendingTests: z.number().default(0),
  numTodoTests: z.number().default(0),
  success: z.boolean(),
});

const playwrightReport = z.object({
  stats: z.object({ expected: z.number(), unexpected: z.number(), flaky: z.number(), skipped: z.number() }),
  errors: z.array(z.unknown()).default([]),
});

export function countsOfVitest(report: unknown): Counts {
  const parsed = vitestReport.parse(report);
  const failed = parsed.numFailedTests === 0 && !parsed.success ? 1 : parsed.numFailedTests;
  return { passed: parsed.numPassedTests, failed, skipped: parsed.numPendingTests + parsed.numTodoTests };
}

export function countsOfPlaywright(report: unknown): Counts {
  const { stats, errors } = playwrightReport.parse(report);
  // Flaky means that a retry passed; the guarantee did not hold the first time.
  const named = stats.unexpected + stats.flaky;
  return { passed: stats.expected, failed: Math.max(named, errors.length > 0 ? 1 : 0), skipped: stats.skipped };
}

/** Reads a runner's report; `exitedWell` is what its exit code said. */
export function countsFrom(file: string, parse: (report: unknown) => Counts, exitedWell: boolean): Counts {
  const counts = readCounts(file, parse);
  if (counts === undefined) return { passed: 0, failed: 1, skipped: 0 };
  return exitedWell || counts.failed > 0 ? counts : { ...counts, failed: 1 };
}

function readCounts(file: string, parse: (report: unknown) => Counts): Counts | undefined {
  if (!existsSync(file)) return undefined;
  try {
    return parse(JSON.parse(readFileSync(file, "utf8")));
  } catch {
    return undefined;
  }
}

export function sum(all: readonly Counts[]): Counts {
  const total = { passed: 0, failed: 0, skipped: 0 };
  for (const counts of all) {
    total.passed += counts.passed;
    total.failed += counts.failed;
    total.skipped += counts.skipped;
  }
  return total;
}

/** The closing line, in the plain form that any reader of a log can find. */
export function closingLine(counts: Counts): string {
  const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : "";
  return `${counts.passed} passed, ${counts.failed} failed${skipped}`;
}
