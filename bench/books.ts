/**
 * The books: a minute of calls of every kind while gateways, the worker and Redis are killed, Redis coming back a second
 * older. Then traffic stops, leases run out, the bill is reconciled, and bill, ledger and counters must be one sum.
 * `--seed=<number>` draws the same calls and kills again, `--seconds=<number>` makes the run shorter or longer,
 * `--patient` leaves the bill unread until the end, which shows what the books know without it.
 */
import { setTimeout as pause } from "node:timers/promises";
import { printFindings, printRun } from "./books/report";
import { wreak } from "./books/chaos";
import { makeCompanies } from "./books/companies";
import { Fleet } from "./books/fleet";
import { HastyReconciler, reconcileAll } from "./books/reconcile";
import { Traffic } from "./books/traffic";
import { verify } from "./books/verify";
import { seededRandom } from "./harness/load";
import type { Bench } from "./harness/session";
import { startBenchStack } from "./harness/stack";
import { waitQuiet } from "./harness/three-books";

const LANES = 24;
/** The shortest there is: within the minute calls expire and settle late, not only at its end. */
const LEASE_MS = 5_000;
const QUIET_TIMEOUT_MS = 60_000;

function numberFlag(flags: ReadonlySet<string>, name: string, absent: number): number {
  const words = [...flags];
  const joined = words.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3);
  const apart = words.includes(`--${name}`) ? words[words.indexOf(`--${name}`) + 1] : undefined;
  const text = joined ?? apart;
  if (text === undefined) return absent;
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0) throw new Error(`--${name} is a whole number`);
  return value;
}

export const bench: Bench = async (session) => {
  const seed = numberFlag(session.flags, "seed", Date.now() % 1_000_000);
  const durationMs = numberFlag(session.flags, "seconds", 60) * 1_000;
  session.say(`seed ${String(seed)} (npm run bench -- books --seed=${String(seed)})`);
  const random = seededRandom(seed);
  const stack = await startBenchStack(session, { gateways: 3, env: { SPILLWAY_LEASE_MS: String(LEASE_MS) } });
  const companies = await makeCompanies(stack);
  const fleet = await Fleet.of(session, stack);
  const keys = companies.flatMap((company) => company.keys.map((key) => key.secret));
  const traffic = new Traffic({ seed, lanes: LANES, keys, urls: () => fleet.urls() });
  const reconciler = new HastyReconciler(stack, session.flags.has("--patient") ? [] : companies);
  // The marks of the append-only file must reach back beyond the first loss.
  await pause(2_000);
  await wreak(fleet, random, durationMs);
  await fleet.reviveAll();
  session.say("no more calls; waiting until streams end, leases run out and everything is booked");
  await traffic.stop();
  await reconciler.stop();
  const isQuiet = await waitQuiet(stack, companies, QUIET_TIMEOUT_MS);
  if (!isQuiet) session.say(`not quiet after ${String(QUIET_TIMEOUT_MS / 1000)} s; the books are read as they are`);
  const reconciled = await reconcileAll(stack, companies);
  await waitQuiet(stack, companies, QUIET_TIMEOUT_MS);
  const findings = await verify(stack, companies, traffic.attempts, reconciled, isQuiet);
  await printRun(session, stack, companies, traffic.attempts, fleet);
  session.say(`corrections while calls were running: ${String(reconciler.corrections)}`);
  printFindings(session, findings);
  session.say(`seed ${String(seed)}`);
  return {
    figure: `${String(findings.drift)} nanos of drift`,
    bar: "0",
    isPass: findings.drift === 0n && findings.checks.every((check) => check.isHeld),
  };
};
