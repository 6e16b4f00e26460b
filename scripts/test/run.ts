// npm test: everything, on a machine that has nothing but Node. `npm test -- unit int` runs only those parts.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { ensureChromium } from "@/lib/services/chromium";
import { freePort } from "@/lib/services/free-port";
import { findRedis } from "@/lib/services/redis-program";
import { reasonOf } from "@/lib/services/service-error";
import { throwAwayFolder } from "@/lib/services/throw-away";
import { ensureBuilt } from "../build/build";
import { ensurePrismaClient } from "../build/prisma-client";
import type { Counts } from "./summary";
import { closingLine, countsFrom, countsOfPlaywright, countsOfVitest, sum } from "./summary";
import type { RunningTool } from "./tool";
import { runTool } from "./tool";

const root = join(import.meta.dirname, "..", "..");
const parts = ["unit", "int", "e2e"] as const;
type Part = (typeof parts)[number];

/** Whatever runs at the moment, for Ctrl-C. */
let running: Pick<RunningTool, "stop"> | undefined;
let interrupted = false;

export async function test(wanted: readonly string[]): Promise<void> {
  stopOnSignals();
  const unknown = wanted.find((name) => !parts.some((part) => part === name));
  if (unknown !== undefined) {
    console.error(`There is no part "${unknown}" of the tests: name some of ${parts.join(", ")}, or none for all.`);
    process.exitCode = 1;
    return;
  }
  const chosen = parts.filter((part) => wanted.length === 0 || wanted.includes(part));
  const reports = throwAwayFolder("spillway-test");
  try {
    prepare(chosen);
    const counts: Counts[] = [];
    for (const part of chosen) counts.push(await runPart(part, reports));
    const total = sum(counts);
    for (const [index, part] of chosen.entries()) console.log(`${part}: ${closingLine(counts[index] ?? total)}`);
    console.log(closingLine(total));
    process.exitCode = total.failed === 0 && total.passed > 0 ? 0 : 1;
  } catch (error) {
    console.error(reasonOf(error));
    process.exitCode = 1;
  }
  if (interrupted) process.exitCode = 130;
}

/** Gets what the parts need before the first of them runs, so that a missing browser is known in seconds. */
function prepare(chosen: readonly Part[]): void {
  ensurePrismaClient(root);
  if (chosen.includes("int") || hasStories(chosen)) findRedis(console.log);
  if (hasStories(chosen)) process.env["SPILLWAY_CHROMIUM"] = ensureChromium(console.log);
}

function hasStories(chosen: readonly Part[]): boolean {
  const folder = join(root, "e2e");
  return chosen.includes("e2e") && existsSync(folder) && readdirSync(folder).some((name) => name.endsWith(".spec.ts"));
}

async function runPart(part: Part, reports: string): Promise<Counts> {
  if (interrupted) return { passed: 0, failed: 1, skipped: 0 };
  console.log(`\n== ${part}`);
  const report = join(reports, `${part}.json`);
  if (part === "e2e") return hasStories([part]) ? runStories(report) : { passed: 0, failed: 0, skipped: 0 };
  const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
  const args = [
    vitest,
    "run",
    "--project",
    part,
    "--reporter=default",
    "--reporter=json",
    `--outputFile.json=${report}`,
  ];
  const exitedWell = await finish(runTool(root, args, process.env));
  return countsFrom(report, countsOfVitest, exitedWell);
}

async function runStories(report: string): Promise<Counts> {
  const started = performance.now();
  console.log("building ...");
  const built = await ensureBuilt({
    root,
    logFolder: join(root, ".spillway", "logs"),
    onChild: (child) => (running = child),
  });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(built ? `built in ${seconds} s` : "the build is of these very sources already");
  const env = {
    ...process.env,
    E2E_PORT: String(await freePort()),
    PLAYWRIGHT_JSON_OUTPUT_NAME: report,
    // A person's own browsers and their settings stay out of it.
    PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD: "1",
  };
  const cli = join(root, "node_modules", "@playwright", "test", "cli.js");
  const exitedWell = await finish(runTool(root, [cli, "test", "--reporter=line,json"], env));
  return countsFrom(report, countsOfPlaywright, exitedWell);
}

async function finish(tool: RunningTool): Promise<boolean> {
  running = tool;
  const exitedWell = await tool.done;
  running = undefined;
  return exitedWell;
}

function stopOnSignals(): void {
  const stop = (): void => {
    if (interrupted) process.exit(130);
    interrupted = true;
    void running?.stop();
  };
  process.on("SIGINT", stop);
  process.on("SIGTERM", stop);
  process.on("SIGHUP", stop);
}
