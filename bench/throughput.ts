/**
 * What Spillway's whole chain costs in processor time: five enforced budgets above the caller with ladders on, ledger and
 * all, against @portkey-ai/gateway with nothing on and against a bare proxy on the same host library. Rounds alternate in
 * one run, because machines are noisy. On our side gateway, Redis and worker count, each until all is booked; on theirs
 * the one process. Then the gateway's peak memory after calls of 10,000 keys. `--profile`: our side alone, with the
 * functions that took the time.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { BudgetSpec, Company } from "./harness/company";
import { createCompany } from "./harness/company";
import { profileArgs, profileText } from "./harness/cpu-profile";
import { checkLaws } from "./harness/laws";
import { inParallel } from "./harness/load";
import { addManyKeys } from "./harness/many-keys";
import type { Bench, BenchSession, Verdict } from "./harness/session";
import { startBenchStack } from "./harness/stack";
import type { BenchStack } from "./harness/stack";
import { percentile, tableText } from "./harness/table";
import {
  BARE_PROXY,
  bareProxy,
  BODY,
  perCpuSecond,
  portkey,
  run,
  spillway,
  total,
  WIDTH,
} from "./throughput/contenders";
import type { Contender, Round } from "./throughput/contenders";

const BAR_RATIO = 4;
const BAR_MEMORY_BYTES = 250 * 1024 * 1024;
const MEBIBYTE = 1024 * 1024;
const ROUNDS = 5;
const CALLS_A_ROUND = 6_000;
/** Until the compiler has settled: on a slow machine the first 15,000 calls of a program still cost more than the next. */
const WARM_UP_CALLS = 20_000;
const KEYS = 10_000;
const BUDGET: BudgetSpec = { limit: 1_000_000_000_000n, ladder: "monthly-department" };

/** How many times theirs ours is, round by round. */
function ratiosByRound(ours: readonly Round[], theirs: readonly Round[]): number[] {
  return ours.flatMap((round, index) => {
    const other = theirs[index];
    return other === undefined ? [] : [perCpuSecond([round]) / perCpuSecond([other])];
  });
}

function makeCompany(stack: BenchStack): Promise<Company> {
  const app = { name: "app", kind: "app" as const, budget: BUDGET, keys: [{ budget: BUDGET }] };
  const team = { name: "team", kind: "team" as const, budget: BUDGET, children: [app] };
  const department = { name: "department", kind: "department" as const, budget: BUDGET, children: [team] };
  return createCompany(stack, {
    root: { name: "company", kind: "organization", budget: BUDGET, children: [department] },
  });
}

/** Alternating rounds of all contenders, each warmed up before. */
async function measure(
  session: BenchSession,
  contenders: readonly Contender[],
  answered: ReadonlyMap<Contender, string[]>,
): Promise<Map<Contender, Round[]>> {
  const rounds = new Map<Contender, Round[]>(contenders.map((contender) => [contender, []]));
  for (const contender of contenders) {
    session.say(`warming up ${contender.name}`);
    await run(contender, WARM_UP_CALLS, answered.get(contender) ?? []);
  }
  for (let number = 1; number <= ROUNDS; number += 1) {
    const words: string[] = [];
    for (const contender of contenders) {
      const round = await run(contender, CALLS_A_ROUND, answered.get(contender) ?? []);
      rounds.get(contender)?.push(round);
      words.push(`${contender.name} ${perCpuSecond([round]).toFixed(0)}`);
    }
    session.say(`round ${String(number)} of ${String(ROUNDS)}, calls per processor second: ${words.join(", ")}`);
  }
  return rounds;
}

function printRounds(session: BenchSession, measured: ReadonlyMap<Contender, readonly Round[]>): void {
  const rows = [...measured].map(([contender, rounds]) => {
    const rates = rounds.map((round) => perCpuSecond([round]));
    return [
      contender.name,
      total(rounds.map((round) => round.calls)),
      (total(rounds.map((round) => round.calls)) / total(rounds.map((round) => round.seconds))).toFixed(0),
      perCpuSecond(rounds).toFixed(0),
      `${Math.min(...rates).toFixed(0)} to ${Math.max(...rates).toFixed(0)}`,
    ];
  });
  session.say(tableText(["way to the sandbox", "calls", "calls/s", "calls/CPU s", "over rounds"], rows));
  const split = [...measured].flatMap(([contender, rounds]) =>
    contender.processes.map((process, index) => {
      const own = total(rounds.map((round) => round.cpuMs[index] ?? 0));
      const calls = total(rounds.map((round) => round.calls));
      return [
        `${contender.name}: ${process.name}`,
        own,
        ((own * 1000) / calls).toFixed(0),
        `${((own * 100) / total(rounds.flatMap((round) => round.cpuMs))).toFixed(1)} %`,
      ];
    }),
  );
  session.say(tableText(["where processor time went", "ms", "us a call", "share"], split));
}

/** What Redis itself says: time by command since the last RESETSTAT; those inside of scripts are counted in evalsha too. */
async function printRedisCommands(session: BenchSession, stack: BenchStack, calls: number): Promise<void> {
  const stats = await stack.store.redis.info("commandstats");
  const rows = [...stats.matchAll(/^cmdstat_(\S+?):calls=(\d+),usec=(\d+),/gmu)]
    .map(([, command = "", count = "0", usec = "0"]) => ({ command, count: Number(count), usec: Number(usec) }))
    .sort((a, b) => b.usec - a.usec)
    .slice(0, 14)
    .map(({ command, count, usec }) => [command, (count / calls).toFixed(2), (usec / calls).toFixed(1)]);
  session.say(tableText(["Redis command", "times a call", "us a call"], rows));
}

/** Ends the profiled processes, which writes their profiles, and prints them. */
async function profileVerdict(
  session: BenchSession,
  ours: Contender,
  folder: string,
  rate: number,
  isPass: boolean,
): Promise<Verdict> {
  const [gateway, , worker] = ours.processes;
  await Promise.all([gateway?.child.stop(), worker?.child.stop()]);
  for (const [name, top] of [
    ["gateway", 40],
    ["worker", 15],
  ] as const)
    session.say(profileText(folder, name, top));
  session.say(`the whole profiles, for Chrome's developer tools, are in ${folder}`);
  return { figure: `${rate.toFixed(0)} requests per CPU second under the profiler`, bar: "none", isPass };
}

const IDLE_MS = 3_000;

/** What our processes burn without any call: it is part of every round above, and large where rounds are slow. */
async function printIdle(session: BenchSession, ours: Contender): Promise<void> {
  const before = ours.processes.map((one) => one.cpuMs());
  await delay(IDLE_MS);
  const words = ours.processes.map((one, index) => {
    const share = ((one.cpuMs() - (before[index] ?? 0)) / IDLE_MS) * 100;
    return `${one.name} ${share.toFixed(1)} %`;
  });
  session.say(`processor use without any call: ${words.join(", ")} of a core`);
}

/** One call of each of 10,000 keys; returns the gateway's peak memory in bytes. */
async function useManyKeys(
  session: BenchSession,
  stack: BenchStack,
  ours: Contender,
  company: Company,
  answered: string[],
): Promise<number> {
  const [gateway] = ours.processes;
  const before = gateway?.peakBytes() ?? 0;
  session.say(`making ${String(KEYS)} keys`);
  const keys = await addManyKeys(stack, company, "app", KEYS);
  session.say("calling with each of them");
  await inParallel(KEYS, WIDTH, async (index) => {
    const { status, text, requestId } = await ours.client.chat({ key: keys[index] ?? "", body: BODY });
    if (status !== 200) throw new Error(`key ${String(index)} was answered ${String(status)}: ${text.slice(0, 300)}`);
    answered.push(requestId);
  });
  const peak = gateway?.peakBytes() ?? 0;
  session.say(
    `peak memory of the gateway process: ${(peak / MEBIBYTE).toFixed(0)} MiB (${(before / MEBIBYTE).toFixed(0)} before) after ` +
      `${String(KEYS)} keys (bar 250) ${peak < BAR_MEMORY_BYTES ? "pass" : "fail"}`,
  );
  return peak;
}

export const bench: Bench = async (session) => {
  const isProfile = session.flags.has("--profile");
  const profiles = join(process.cwd(), "dist", "bench-profiles", String(process.pid));
  if (isProfile) mkdirSync(profiles, { recursive: true });
  const stack = await startBenchStack(session, {
    gateways: 1,
    programs: [BARE_PROXY],
    ...(isProfile
      ? { gatewayNodeArgs: profileArgs(profiles, "gateway"), workerNodeArgs: profileArgs(profiles, "worker") }
      : {}),
  });
  const company = await makeCompany(stack);
  const ours = spillway(session, stack, company);
  const others = isProfile ? [] : [await portkey(session, stack), await bareProxy(session, stack)];
  const contenders = [ours, ...others];
  const answered = new Map<Contender, string[]>(contenders.map((contender) => [contender, []]));
  await stack.store.redis.config("RESETSTAT");
  const measured = await measure(session, contenders, answered);
  printRounds(session, measured);
  await printRedisCommands(session, stack, answered.get(ours)?.length ?? 1);
  await printIdle(session, ours);
  const own = answered.get(ours) ?? [];
  const peak = isProfile ? 0 : await useManyKeys(session, stack, ours, company, own);
  const report = await checkLaws(session, stack, [company], { answered: own });
  const rates = contenders.map((contender) => perCpuSecond(measured.get(contender) ?? []));
  if (isProfile) return profileVerdict(session, ours, profiles, rates[0] ?? 0, report.isHeld);
  const [rate = 0, theirs = Infinity, bare = Infinity] = rates;
  const ratios = others
    .slice(0, 1)
    .flatMap((other) => ratiosByRound(measured.get(ours) ?? [], measured.get(other) ?? []));
  if (ratios.length > 0)
    session.say(
      `ratio by round: ${ratios.map((one) => one.toFixed(2)).join(", ")} (median ${percentile(ratios, 0.5).toFixed(2)})`,
    );
  session.say(`${((rate / bare) * 100).toFixed(0)} % of the bare proxy's requests per processor second kept`);
  const ratio = rate / theirs;
  const isPass = ratio >= BAR_RATIO && peak < BAR_MEMORY_BYTES && report.isHeld;
  return { figure: `${ratio.toFixed(1)}x of portkey's requests per CPU second`, bar: String(BAR_RATIO), isPass };
};
