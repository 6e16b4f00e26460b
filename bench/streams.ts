/**
 * 500 paced streams at once through one gateway process, with five enforced budgets above the caller, straight to the
 * provider, and through a relay that governs nothing, round by round in one run. Provider (`streams/tap.ts`, in front
 * of the sandbox), gateway and client are a process each, on one clock. Measured are the time from the request to the first
 * byte of the body, and for each event the time from when the provider wrote it to when the client had it; what is added
 * is the difference to the direct way, and the machine's share of it is what a relay adds that copies bytes.
 * Then 500 streams of every make: what the client got must be what the provider sent, byte by byte.
 * `--profile`: the gateway under the V8 profiler, with the functions that took the time.
 */
import { mkdirSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { BudgetSpec, Company } from "./harness/company";
import { createCompany } from "./harness/company";
import { profileArgs, profileText } from "./harness/cpu-profile";
import { checkLaws } from "./harness/laws";
import type { MeasuredProcess } from "./harness/measured-process";
import { residentBytesOf } from "./harness/measured-process";
import type { Bench, BenchSession } from "./harness/session";
import { startBenchStack } from "./harness/stack";
import type { BenchStack } from "./harness/stack";
import { percentile, tableText } from "./harness/table";
import { oddMake, problemOf } from "./streams/contents";
import { CORES, giveLastCore, keepAwake, leaveLastCore } from "./streams/cores";
import type { MadeStream, RoundShape, Way } from "./streams/rounds";
import { addSent, eventGaps, eventTimes, firstByteTimes, runStreams, withCpu } from "./streams/rounds";

const BAR_FIRST_BYTE_MS = 10;
const BAR_EVENT_US = 50;
const STREAMS = 500;
const ROUNDS = 2;
const TAP = "bench/streams/tap.ts";
const RELAY = "bench/streams/relay.ts";
/** Two events a second; a stream of twelve takes six seconds, and slots begin evenly over them. */
const PACE_MS = 500;
const TOKENS = 12;
const ROUND: RoundShape = {
  slots: STREAMS,
  streamsPerSlot: 2,
  startEveryMs: (TOKENS * PACE_MS) / STREAMS,
  // Each at a pace of its own, by a fifth more or less, so that none keep in step.
  makeOf: (index) => ({
    route: "chat/completions",
    tokens: TOKENS,
    paceMs: Math.round(PACE_MS * (0.8 + ((index * 7) % 41) / 100)),
    wantsUsage: index % 2 === 0,
  }),
};
/** For as many calls as it takes until the engine has compiled what they run. */
const WARM_UP: RoundShape = {
  slots: 100,
  streamsPerSlot: 30,
  startEveryMs: 5,
  makeOf: (index) => ({ ...ROUND.makeOf(index), paceMs: 5 }),
};
const ODD: RoundShape = { slots: STREAMS, streamsPerSlot: 1, startEveryMs: 0, makeOf: oddMake };
const MEBIBYTE = 1024 * 1024;
const BUDGET: BudgetSpec = { limit: 1_000_000_000_000n, ladder: "monthly-department" };

function makeCompany(stack: BenchStack, providerOrigin: string): Promise<Company> {
  const app = { name: "app", kind: "app" as const, budget: BUDGET, keys: [{ budget: BUDGET }] };
  const team = { name: "team", kind: "team" as const, budget: BUDGET, children: [app] };
  const department = { name: "department", kind: "department" as const, budget: BUDGET, children: [team] };
  return createCompany(stack, {
    root: { name: "company", kind: "organization", budget: BUDGET, children: [department] },
    providerOrigin,
  });
}

interface Measured {
  readonly firstByte: number[];
  readonly event: number[];
  readonly gap: number[];
  /** Of each round. */
  readonly firstByteP50s: number[];
  readonly firstByteP99s: number[];
  readonly eventP50s: number[];
  events: number;
  readonly cpuMs: Map<string, number>;
}

class Course {
  readonly answered: string[] = [];
  readonly measured = new Map<Way, Measured>();
  problems = 0;
  checked = 0;

  constructor(
    private readonly session: BenchSession,
    private readonly stack: BenchStack,
    private readonly tap: MeasuredProcess,
  ) {}

  /** Runs the shape and compares every stream; of the other ways it is only checked that they answer. */
  async run(way: Way, shape: RoundShape): Promise<void> {
    await this.compare(way, await runStreams(way, shape));
  }

  private async compare(way: Way, streams: readonly MadeStream[]): Promise<void> {
    await addSent(streams, this.tap.url);
    for (const { record, make } of streams) {
      const problem = way.name === "gateway" ? problemOf(record, make) : answerProblem(record.status);
      this.checked += 1;
      if (problem !== undefined && ++this.problems <= 10) {
        this.session.say(`${way.name}, stream ${String(record.id)} ${JSON.stringify(make)}: ${problem}`);
      }
      if (way.name === "gateway" && record.status === 200) this.answered.push(record.requestId);
      record.sent.parts.length = 0;
      record.got.parts.length = 0;
    }
  }

  async measure(way: Way): Promise<void> {
    const { sandbox, redis, worker } = this.stack;
    const processes = [...way.processes, this.tap, sandbox, redis, ...(worker ? [worker] : [])];
    const { result, cpuMs, seconds } = await withCpu(processes, () => runStreams(way, ROUND));
    await this.compare(way, result);
    const known: Measured = this.measured.get(way) ?? {
      firstByte: [],
      event: [],
      gap: [],
      firstByteP50s: [],
      firstByteP99s: [],
      eventP50s: [],
      events: 0,
      cpuMs: new Map(),
    };
    const round = { firstByte: firstByteTimes(result), event: eventTimes(result), gap: eventGaps(result) };
    for (const name of ["firstByte", "event", "gap"] as const) for (const one of round[name]) known[name].push(one);
    const [firstByteP50, firstByteP99] = [percentile(round.firstByte, 0.5), percentile(round.firstByte, 0.99)];
    const eventP50 = percentile(round.event, 0.5);
    known.firstByteP50s.push(firstByteP50);
    known.firstByteP99s.push(firstByteP99);
    known.eventP50s.push(eventP50);
    known.events += result.reduce((sum, { record }) => sum + record.got.endedAt.length, 0);
    for (const [name, ms] of cpuMs) known.cpuMs.set(name, (known.cpuMs.get(name) ?? 0) + ms);
    this.measured.set(way, known);
    this.session.say(
      `${way.name}: ${String(result.length)} streams in ${seconds.toFixed(1)} s, first byte p50 ${firstByteP50.toFixed(2)} ` +
        `p99 ${firstByteP99.toFixed(2)} ms, event p50 ${(eventP50 * 1000).toFixed(0)} us`,
    );
  }
}

function answerProblem(status: number): string | undefined {
  return status === 200 ? undefined : `answered ${String(status)}`;
}

/** The most a process has resident while the work runs. */
async function watchMemory(pid: number, work: Promise<unknown>): Promise<number> {
  let isOver = false;
  let most = 0;
  const watching = (async () => {
    while (!isOver) {
      most = Math.max(most, residentBytesOf(pid));
      await delay(100);
    }
  })();
  await work;
  isOver = true;
  await watching;
  return most;
}

function printTimes(session: BenchSession, measured: ReadonlyMap<Way, Measured>): void {
  const row = (name: string, numbers: readonly number[], factor: number, digits: number) => [
    name,
    numbers.length,
    ...[0.5, 0.9, 0.99, 0.999].map((share) => (percentile(numbers, share) * factor).toFixed(digits)),
  ];
  const rows = [...measured].flatMap(([way, { firstByte, event, gap }]) => [
    row(`${way.name}: first byte, ms`, firstByte, 1, 2),
    row(`${way.name}: provider to client for an event, us`, event, 1000, 0),
    row(`${way.name}: between two events, ms`, gap, 1, 2),
  ]);
  session.say(tableText(["time", "count", "p50", "p90", "p99", "p99.9"], rows));
  const cpu = [...measured].flatMap(([way, { cpuMs, events }]) =>
    [...cpuMs].map(([name, ms]) => [`${way.name}: ${name}`, ms.toFixed(0), ((ms * 1000) / events).toFixed(1)]),
  );
  session.say(tableText(["processor time", "ms", "us an event"], cpu));
}

interface Added {
  readonly firstByteMs: number;
  readonly eventUs: number;
  /** What of it a process adds that only copies bytes. */
  readonly machineUs: number;
}

function addedBy(measured: ReadonlyMap<Way, Measured>, { gateway, direct, copied }: Ways): Added {
  const of = (way: Way): Measured => {
    const known = measured.get(way);
    if (!known) throw new Error(`${way.name} was not measured`);
    return known;
  };
  // Others on the machine only ever add: of the rounds of a way the quietest counts.
  const least = (figures: readonly number[]): number => Math.min(...figures);
  const eventUs = (way: Way): number => (least(of(way).eventP50s) - least(of(direct).eventP50s)) * 1000;
  return {
    // The slowest hundredth against the usual direct call: the direct way's own stragglers excuse nothing.
    firstByteMs: least(of(gateway).firstByteP99s) - least(of(direct).firstByteP50s),
    eventUs: eventUs(gateway),
    machineUs: eventUs(copied),
  };
}

interface Ways {
  readonly gateway: Way;
  readonly direct: Way;
  readonly copied: Way;
}

async function startWays(stack: BenchStack, tap: MeasuredProcess, company: Company): Promise<Ways> {
  const [gateway] = stack.gateways;
  const secret = company.keys[0]?.secret;
  if (gateway === undefined || secret === undefined) throw new Error("the stack is not whole");
  const relay = await stack.startProgram("relay", RELAY, { RELAY_TARGET: tap.url });
  return {
    gateway: { name: "gateway", url: gateway.url, secret, processes: [gateway] },
    direct: { name: "direct", url: tap.url, secret: "sandbox-direct", processes: [] },
    copied: { name: "copying relay", url: relay.url, secret: "sandbox-direct", processes: [relay] },
  };
}

/** The rounds, gateway and direct one after another in each, and one of the relay; what the gateway has resident with nothing open, and at most. */
async function runRounds(course: Course, ways: Ways): Promise<{ idle: number; open: number }> {
  for (const way of Object.values(ways) as Way[]) await course.run(way, WARM_UP);
  const pid = ways.gateway.processes[0]?.pid ?? 0;
  const idle = residentBytesOf(pid);
  let open = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    open = Math.max(open, await watchMemory(pid, course.measure(ways.gateway)));
    await course.measure(ways.direct);
  }
  await course.measure(ways.copied);
  return { idle, open };
}

function sayConditions(session: BenchSession, hasOwnCore: boolean, isAwake: boolean): void {
  const [load = 0] = loadavg();
  session.say(
    `load of the machine before: ${load.toFixed(1)} on ${String(CORES)} cores, which ${isAwake ? "do not halt" : "MAY HALT"}; ` +
      `gateway and relays ${hasOwnCore ? "on one of their own" : "WITHOUT one of their own"}`,
  );
}

export const bench: Bench = async (session) => {
  const hasOwnCore = leaveLastCore();
  const isProfile = session.flags.has("--profile");
  const profiles = join(process.cwd(), "dist", "bench-profiles", String(process.pid));
  if (isProfile) mkdirSync(profiles, { recursive: true });
  const gatewayNodeArgs = isProfile ? profileArgs(profiles, "gateway") : [];
  const stack = await startBenchStack(session, { gateways: 1, gatewayNodeArgs, programs: [TAP, RELAY] });
  const tap = await stack.startProgram("tap", TAP, { TAP_TARGET: stack.sandbox.url });
  const company = await makeCompany(stack, tap.url);
  const ways = await startWays(stack, tap, company);
  const course = new Course(session, stack, tap);
  if (hasOwnCore)
    for (const { processes } of Object.values(ways) as Way[]) for (const { pid } of processes) giveLastCore(pid);
  sayConditions(session, hasOwnCore, keepAwake(session));
  const { idle, open } = await runRounds(course, ways);
  printTimes(session, course.measured);
  session.say(
    `memory of the gateway process: ${(idle / MEBIBYTE).toFixed(0)} MiB with nothing open, at most ${(open / MEBIBYTE).toFixed(0)} MiB with ` +
      `${String(STREAMS)} streams: ${((open - idle) / STREAMS / 1024).toFixed(0)} KiB a stream, garbage included`,
  );
  // What pieces of a byte cost is not what the profile is to show.
  if (!isProfile) {
    session.say(`${String(STREAMS)} streams at once, of every make`);
    await course.run(ways.gateway, ODD);
  }
  session.say(`${String(course.checked)} streams compared, ${String(course.problems)} not as they were sent`);
  const report = await checkLaws(session, stack, [company], { answered: course.answered });
  if (isProfile) {
    await stack.gateways[0]?.child.stop();
    session.say(profileText(profiles, "gateway", 45));
  }
  const { firstByteMs, eventUs, machineUs } = addedBy(course.measured, ways);
  const isFast = firstByteMs <= BAR_FIRST_BYTE_MS && eventUs <= BAR_EVENT_US;
  return {
    figure:
      `${firstByteMs.toFixed(1)} ms added to the first byte at p99, ${eventUs.toFixed(0)} us to an event at p50 ` +
      `(a relay that copies bytes adds ${machineUs.toFixed(0)}), ${String(course.problems)} streams not whole`,
    bar: `${String(BAR_FIRST_BYTE_MS)} ms, ${String(BAR_EVENT_US)} us, 0`,
    isPass: isFast && course.problems === 0 && report.isHeld,
  };
};
