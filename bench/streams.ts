/**
 * 500 paced streams at once through one gateway process, with five enforced budgets above the caller, and straight to the
 * sandbox, round by round in one run. Client and tap (`streams/tap.ts`) are this process and share one clock. Measured
 * are the time from the request to the first byte of the body, and for each event the time from when the provider's bytes
 * passed the tap to when the client had them; what the gateway adds is the difference to the direct way, which leads
 * through the same tap. Then 500 streams of every make: what the client got must be what passed the tap, byte by byte.
 * `--profile`: the gateway under the V8 profiler, with the functions that took the time.
 */
import { mkdirSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { BudgetSpec, Company } from "./harness/company";
import { createCompany } from "./harness/company";
import { profileArgs, profileText } from "./harness/cpu-profile";
import { checkLaws } from "./harness/laws";
import { residentBytesOf } from "./harness/measured-process";
import type { Bench, BenchSession } from "./harness/session";
import { startBenchStack } from "./harness/stack";
import type { BenchStack } from "./harness/stack";
import { percentile, tableText } from "./harness/table";
import type { StreamMake } from "./streams/contents";
import { oddMake, problemOf } from "./streams/contents";
import { Records } from "./streams/records";
import type { MadeStream, RoundShape, Way } from "./streams/rounds";
import { eventGaps, eventTimes, firstByteTimes, runStreams, withCpu } from "./streams/rounds";
import { startTap } from "./streams/tap";

const BAR_FIRST_BYTE_MS = 10;
const BAR_EVENT_US = 50;
const STREAMS = 500;
const ROUNDS = 2;
/** Forty events at about ten a second: a stream takes four seconds, and slots begin evenly over them. */
const PACED: StreamMake = { route: "chat/completions", tokens: 40, chunkDelayMs: 100, wantsUsage: true };
const PACED_MS = PACED.tokens * PACED.chunkDelayMs;
const ROUND: RoundShape = {
  slots: STREAMS,
  streamsPerSlot: 3,
  startEveryMs: PACED_MS / STREAMS,
  // Each at a pace of its own: timers of one length that were once late together would go off together for ever.
  makeOf: (index) => ({
    ...PACED,
    chunkDelayMs: PACED.chunkDelayMs - 20 + ((index * 7) % 41),
    wantsUsage: index % 2 === 0,
  }),
};
const WARM_UP: RoundShape = { ...ROUND, slots: 100, startEveryMs: 5, makeOf: () => ({ ...PACED, chunkDelayMs: 5 }) };
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
    private readonly records: Records,
  ) {}

  /** Runs the shape and compares every stream; a direct one only says that the bench itself loses nothing. */
  async run(way: Way, shape: RoundShape): Promise<MadeStream[]> {
    const streams = await runStreams(way, shape, this.records);
    for (const { record, make } of streams) {
      const problem = way.name === "direct" ? directProblem(record.status) : problemOf(record, make);
      this.checked += 1;
      if (problem !== undefined && ++this.problems <= 10) {
        this.session.say(`${way.name}, stream ${String(record.id)} ${JSON.stringify(make)}: ${problem}`);
      }
      if (way.name === "gateway" && record.status === 200) this.answered.push(record.requestId);
      record.sent.parts.length = 0;
      record.got.parts.length = 0;
    }
    return streams;
  }

  async measure(way: Way): Promise<void> {
    const { gateways, sandbox, redis, worker } = this.stack;
    const processes = [...gateways, sandbox, redis, ...(worker ? [worker] : [])];
    const { result, cpuMs, seconds } = await withCpu(processes, () => this.run(way, ROUND));
    const known: Measured = this.measured.get(way) ?? {
      firstByte: [],
      event: [],
      gap: [],
      events: 0,
      cpuMs: new Map(),
    };
    const round = { firstByte: firstByteTimes(result), event: eventTimes(result), gap: eventGaps(result) };
    for (const name of ["firstByte", "event", "gap"] as const) for (const one of round[name]) known[name].push(one);
    known.events += result.reduce((sum, { record }) => sum + record.got.endedAt.length, 0);
    for (const [name, ms] of cpuMs) known.cpuMs.set(name, (known.cpuMs.get(name) ?? 0) + ms);
    this.measured.set(way, known);
    this.session.say(
      `${way.name}: ${String(result.length)} streams in ${seconds.toFixed(1)} s, first byte p50 ${percentile(round.firstByte, 0.5).toFixed(2)} ` +
        `p99 ${percentile(round.firstByte, 0.99).toFixed(2)} ms, event p50 ${(percentile(round.event, 0.5) * 1000).toFixed(0)} us`,
    );
  }
}

function directProblem(status: number): string | undefined {
  return status === 200 ? undefined : `answered ${String(status)}`;
}

/** Resident memory of the gateway with nothing open, and in the midst of a round. */
async function watchMemory(stack: BenchStack, work: Promise<unknown>): Promise<number> {
  const pid = stack.gateways[0]?.pid ?? 0;
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
    row(`${way.name}: tap to client for an event, us`, event, 1000, 0),
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
}

/** The slowest hundredth against the usual direct call: the direct way's own stragglers excuse nothing. */
function addedBy(gateway: Measured, direct: Measured): Added {
  return {
    firstByteMs: percentile(gateway.firstByte, 0.99) - percentile(direct.firstByte, 0.5),
    eventUs: (percentile(gateway.event, 0.5) - percentile(direct.event, 0.5)) * 1000,
  };
}

export const bench: Bench = async (session) => {
  const isProfile = session.flags.has("--profile");
  const profiles = join(process.cwd(), "dist", "bench-profiles", String(process.pid));
  if (isProfile) mkdirSync(profiles, { recursive: true });
  const gatewayNodeArgs = isProfile ? profileArgs(profiles, "gateway") : [];
  const stack = await startBenchStack(session, { gateways: 1, gatewayNodeArgs });
  const records = new Records();
  const tap = await startTap(stack.sandbox.url, records);
  session.stops.add(() => tap.close());
  const company = await makeCompany(stack, tap.url);
  const [gateway] = stack.gateways;
  const secret = company.keys[0]?.secret;
  if (gateway === undefined || secret === undefined) throw new Error("the stack is not whole");
  const through: Way = { name: "gateway", url: gateway.url, secret };
  const direct: Way = { name: "direct", url: tap.url, secret: "sandbox-direct" };
  const course = new Course(session, stack, records);
  const [load = 0] = loadavg();
  session.say(`warming up (load of the machine before: ${load.toFixed(1)} on ${String(availableParallelism())} cores)`);
  await course.run(direct, WARM_UP);
  await course.run(through, WARM_UP);
  const idle = residentBytesOf(gateway.pid);
  const first = course.measure(through);
  const open = await watchMemory(stack, first);
  await course.measure(direct);
  for (let round = 1; round < ROUNDS; round += 1) {
    await course.measure(through);
    await course.measure(direct);
  }
  printTimes(session, course.measured);
  session.say(
    `memory of the gateway process: ${(idle / MEBIBYTE).toFixed(0)} MiB with nothing open, at most ${(open / MEBIBYTE).toFixed(0)} MiB with ` +
      `${String(STREAMS)} streams: ${((open - idle) / STREAMS / 1024).toFixed(0)} KiB a stream, garbage included`,
  );
  // What pieces of a byte cost is not what the profile is to show.
  if (!isProfile) {
    session.say(`${String(STREAMS)} streams at once, of every make`);
    await course.run(through, ODD);
  }
  session.say(`${String(course.checked)} streams compared, ${String(course.problems)} not as they were sent`);
  const report = await checkLaws(session, stack, [company], { answered: course.answered });
  const [ours, theirs] = [course.measured.get(through), course.measured.get(direct)];
  if (!ours || !theirs) throw new Error("nothing was measured");
  const { firstByteMs, eventUs } = addedBy(ours, theirs);
  if (isProfile) {
    await gateway.child.stop();
    session.say(profileText(profiles, "gateway", 45));
  }
  const isFast = firstByteMs <= BAR_FIRST_BYTE_MS && eventUs <= BAR_EVENT_US;
  return {
    figure: `${firstByteMs.toFixed(1)} ms added to the first byte at p99, ${eventUs.toFixed(0)} us to an event at p50, ${String(course.problems)} streams not whole`,
    bar: `${String(BAR_FIRST_BYTE_MS)} ms, ${String(BAR_EVENT_US)} us, 0`,
    isPass: isFast && course.problems === 0 && report.isHeld,
  };
};
