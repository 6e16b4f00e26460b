/**
 * Twenty minutes of a real conversation service (bench/data/README.md), twenty times as fast, through three gateway
 * processes: real arrival times, prompt and answer sizes; streams and plain answers; four departments of four traffic
 * classes whose budgets run low midway, so that calls are downgraded at 90 % and refused at the end. Then the three
 * books are laid side by side.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Company, CompanyKey, NodeSpec } from "./harness/company";
import { createCompany } from "./harness/company";
import { checkLaws } from "./harness/laws";
import { chatBody, countBy, LoadClient, seededRandom } from "./harness/load";
import type { Answer } from "./harness/load";
import type { Bench, BenchSession } from "./harness/session";
import { startBenchStack } from "./harness/stack";
import { moneyText, percentile, tableText } from "./harness/table";
import type { BudgetStanding } from "./harness/three-books";

const SPEED = 20;
const CONNECTIONS_A_PROCESS = 100;
const LADDER = "monthly-department";
/** Nanos: the whole trace would cost about 23 USD if nothing were downgraded or refused. */
const USD = 1_000_000_000n;
/** Answers are asked for under the next of these caps, as people do who do not know how long an answer will be. */
const CAPS = [128, 256, 512, 1_024, 2_048];
const SEED = 20_231_116;

interface Department {
  readonly name: string;
  readonly trafficClass: string;
  /** Part of all calls. */
  readonly share: number;
  readonly limit: bigint;
}

/** Limits at about half of what the department would spend, but for sales, which is to stay on the downgrade rung. */
const DEPARTMENTS: readonly Department[] = [
  { name: "support", trafficClass: "core", share: 0.4, limit: 5n * USD },
  { name: "sales", trafficClass: "general", share: 0.3, limit: 4n * USD },
  { name: "growth", trafficClass: "marketing", share: 0.15, limit: (3n * USD) / 2n },
  { name: "research", trafficClass: "offline", share: 0.15, limit: (3n * USD) / 2n },
];

interface Arrival {
  readonly atMs: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
}

function readTrace(): Arrival[] {
  const text = readFileSync(join(import.meta.dirname, "data", "azure-conversation-20min.csv"), "utf8");
  return text
    .trimEnd()
    .split("\n")
    .slice(1)
    .map((line) => {
      const [atMs = 0, promptTokens = 0, completionTokens = 0] = line.split(",").map(Number);
      return { atMs: atMs / SPEED, promptTokens, completionTokens };
    });
}

function companyTree(): NodeSpec {
  const department = ({ name, trafficClass, limit }: Department): NodeSpec => ({
    name,
    kind: "department",
    budget: { limit, ladder: LADDER },
    children: [
      {
        name: `${name} team`,
        kind: "team",
        children: [1, 2].map((number) => ({
          name: `${name} app ${String(number)}`,
          kind: "app",
          keys: [{ trafficClass }],
        })),
      },
    ],
  });
  return {
    name: "company",
    kind: "organization",
    budget: { limit: 12n * USD, ladder: LADDER },
    children: DEPARTMENTS.map(department),
  };
}

interface PlannedCall {
  readonly atMs: number;
  readonly key: CompanyKey;
  readonly body: string;
}

/** Four characters a token, the common rule of thumb for English. */
const FILLER = "The quick brown fox jumps over the lazy dog and wonders about its bill. ".repeat(1_000);

/** Who asks for what, drawn from a fixed seed: the same in every run. */
function plan(trace: readonly Arrival[], company: Company): PlannedCall[] {
  const random = seededRandom(SEED);
  return trace.map(({ atMs, promptTokens, completionTokens }): PlannedCall => {
    const key = pickKey(company, random(), random());
    const stream = random() < 0.6;
    return {
      atMs,
      key,
      body: chatBody({
        model: random() < 0.6 ? "sandbox-large" : "sandbox-medium",
        prompt: FILLER.slice(0, promptTokens * 4),
        maxTokens: CAPS.find((cap) => cap >= completionTokens) ?? completionTokens,
        stream,
        sandbox: {
          promptTokens,
          completionTokens,
          latencyMs: 15,
          ...(stream ? { tokensPerChunk: 32, chunkDelayMs: 1 } : {}),
        },
      }),
    };
  });
}

function pickKey(company: Company, departmentDraw: number, appDraw: number): CompanyKey {
  let rest = departmentDraw;
  const department = DEPARTMENTS.find((one) => (rest -= one.share) < 0) ?? DEPARTMENTS[0];
  const keys = company.keys.filter((key) => key.app.startsWith(`${department?.name ?? ""} app`));
  const key = keys[Math.floor(appDraw * keys.length)];
  if (key === undefined) throw new Error("the department has no key");
  return key;
}

interface Played {
  readonly call: PlannedCall;
  readonly answer: Answer;
  readonly ms: number;
}

/** Sends every call at its time, whether or not earlier ones were answered. */
async function play(session: BenchSession, client: LoadClient, calls: readonly PlannedCall[]): Promise<Played[]> {
  const running: Promise<Played>[] = [];
  const startMs = performance.now();
  let nextSayMs = 10_000;
  for (const call of calls) {
    const waitMs = call.atMs - (performance.now() - startMs);
    if (waitMs > 1) await delay(waitMs);
    if (call.atMs >= nextSayMs) {
      session.say(`${String(running.length)} of ${String(calls.length)} calls sent`);
      nextSayMs += 10_000;
    }
    const sentMs = performance.now();
    const one = client.chat({ key: call.key.secret, body: call.body });
    running.push(one.then((answer) => ({ call, answer, ms: performance.now() - sentMs })));
  }
  return Promise.all(running);
}

function printAnswers(session: BenchSession, played: readonly Played[]): void {
  const wordOf = ({ answer }: Played): string =>
    answer.status === 200
      ? `200 ${answer.decision} (${answer.servedModel})`
      : `${String(answer.status)} ${answer.code}`;
  const classes = DEPARTMENTS.map((department) => department.trafficClass);
  const rows = countBy(played, wordOf).map(([word, count]) => {
    const own = played.filter((one) => wordOf(one) === word);
    return [word, count, ...classes.map((name) => own.filter((one) => one.call.key.trafficClass === name).length)];
  });
  session.say(tableText(["answer", "calls", ...classes], rows));
}

function printBudgets(session: BenchSession, standings: readonly BudgetStanding[]): void {
  const rows = standings.map((one) => [
    one.name,
    moneyText(one.limit),
    moneyText(one.settled),
    `${(Number((one.settled * 10_000n) / one.limit) / 100).toFixed(2)} %`,
  ]);
  session.say(tableText(["budget", "limit USD", "settled USD", "used"], rows));
}

export const bench: Bench = async (session) => {
  const stack = await startBenchStack(session);
  const company = await createCompany(stack, { root: companyTree() });
  const client = new LoadClient(
    stack.gateways.map((gateway) => gateway.url),
    CONNECTIONS_A_PROCESS,
  );
  session.stops.add(() => client.close());
  const calls = plan(readTrace(), company);
  session.say(`replaying ${String(calls.length)} calls at ${String(SPEED)} times their speed`);
  const played = await play(session, client, calls);
  printAnswers(session, played);
  // A fixed text is an answer too, but nobody was called for it and nothing is booked.
  const fixed = played.filter((one) => one.answer.decision === "static").length;
  const served = played.filter((one) => one.answer.status === 200 && one.answer.decision !== "static");
  const answered = served.map((one) => one.answer.requestId);
  const report = await checkLaws(session, stack, [company], { answered });
  printBudgets(session, report.standings);
  const downgrades = served.filter((one) => one.answer.decision === "downgrade").length;
  const refused = played.length - served.length - fixed;
  const times = served.map((one) => one.ms);
  session.say(
    `${String(played.length)} calls: ${String(served.length)} served (${String(downgrades)} downgraded), ${String(fixed)} fixed texts, ${String(refused)} refused, ` +
      `${moneyText(report.books.ledger)} USD spent; served in p50 ${percentile(times, 0.5).toFixed(0)} ms, p99 ${percentile(times, 0.99).toFixed(0)} ms`,
  );
  const isWhole = played.every(
    (one) => one.answer.status === 200 || one.answer.status === 429 || one.answer.status === 202,
  );
  if (!isWhole) session.say("some calls were neither served nor refused by their budget");
  const isPass = report.drift === 0n && report.isHeld && isWhole && downgrades > 0 && refused > 0;
  return { figure: `${String(report.drift)} nanos of drift`, bar: "0", isPass };
};
