/**
 * The failure table, row by row: each fault is brought about under load on real processes, what the table says is looked for in what
 * callers hear, and after healing bill, ledger and counters must be one sum. `--row=<word>` runs the rows whose name has the word.
 */
import { PROCESS_ROWS } from "./faults/process-rows";
import { Plant } from "./faults/plant";
import type { FaultRow, RowResult } from "./faults/scene";
import { runRow } from "./faults/scene";
import { STORE_ROWS } from "./faults/store-rows";
import { CHANGE_ROWS } from "./faults/change-rows";
import type { Bench, BenchSession } from "./harness/session";
import { startBenchStack } from "./harness/stack";

/** The shortest there is: what a killed process held comes back within the row. */
const LEASE_MS = 5_000;
/** Small, so that a worker that is down is felt within the row. */
const MAX_WAITING = 1_500;

const ROWS: readonly FaultRow[] = [...STORE_ROWS, ...PROCESS_ROWS, ...CHANGE_ROWS];

function wanted(flags: ReadonlySet<string>): readonly FaultRow[] {
  const word = [...flags].find((flag) => flag.startsWith("--row="))?.slice("--row=".length);
  return word === undefined ? ROWS : ROWS.filter((row) => row.fault.includes(word));
}

function printResult(session: BenchSession, { row, seen, calls, findings, problems }: RowResult): void {
  session.say(
    [
      "",
      `${problems.length === 0 ? "as the table says" : "NOT AS IT SAYS"}  ${row.fault}`,
      `  says      ${row.says}`,
      `  measured  ${seen.measured}`,
      `  books     ${String(findings.drift)} nanos of drift after ${String(calls)} calls`,
      ...problems.map((problem) => `  PROBLEM   ${problem}`),
    ].join("\n"),
  );
}

export const bench: Bench = async (session) => {
  const env = { SPILLWAY_LEASE_MS: String(LEASE_MS), SPILLWAY_USAGE_MAX_WAITING: String(MAX_WAITING) };
  const stack = await startBenchStack(session, { gateways: 3, env });
  const plant = await Plant.of(session, stack);
  const results: RowResult[] = [];
  for (const row of wanted(session.flags)) {
    session.say(row.fault);
    const result = await runRow(session, plant, row);
    results.push(result);
    printResult(session, result);
  }
  const good = results.filter(({ problems }) => problems.length === 0).length;
  const drift = results.reduce((sum, { findings }) => sum + findings.drift, 0n);
  return {
    figure: `${String(good)} of ${String(results.length)} rows as the table says, ${String(drift)} nanos of drift`,
    bar: "all, 0",
    isPass: good === results.length && drift === 0n,
  };
};
