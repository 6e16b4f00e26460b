/**
 * 1,000 callers at once on three gateway processes, far more calls than the budgets have room for. Four companies, each
 * with small budgets at another level of the tree, so that every level binds somewhere. Twice: with calls that cost just
 * what was held for them (exactly as many as fit must be admitted), and with calls that cost less (callers go on until
 * they are refused, and at the end less than one hold is left).
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Company, NodeKind, NodeSpec } from "./harness/company";
import { createCompany } from "./harness/company";
import { checkLaws } from "./harness/laws";
import { chatBody, countBy, inParallel, LoadClient } from "./harness/load";
import type { Answer } from "./harness/load";
import type { Bench, BenchSession } from "./harness/session";
import { startBenchStack } from "./harness/stack";
import type { BenchStack } from "./harness/stack";
import { moneyText, tableText } from "./harness/table";
import { readCounters, readStandings, waitQuiet } from "./harness/three-books";

const CALLERS = 1_000;
const LEVELS: readonly NodeKind[] = ["organization", "department", "team", "app"];
/** Each company's budgets hold this many calls together, shared evenly by its 1, 2, 4 or 8 budgets. */
const CALLS_A_COMPANY = 400;
/** 1,000 output tokens at 10 USD per million; input is free here and the sandbox is told to count none. */
const MAX_TOKENS = 1_000;
const HOLD_NANOS = 10_000_000n;
const PLENTY = 1_000_000_000_000n;
const PRICES = { "sandbox-large": { input: "0", output: "10" } };
/** No downgrade map: past the limit a cheaper model would still fit, and the count of calls would not be exact. */
const POLICY = {};
const CHEAP_TOKENS = 370;
/** Long enough for hundreds of calls to be held at the same time. */
const LATENCY_MS = 25;

/** Two departments of two teams of two apps of two keys; budgets at every node, small ones at `level`. */
function treeFor(level: NodeKind): NodeSpec {
  const count = 2 ** LEVELS.indexOf(level);
  const small = (HOLD_NANOS * BigInt(CALLS_A_COMPANY)) / BigInt(count);
  const node = (depth: number, name: string): NodeSpec => {
    const kind = LEVELS[depth] ?? "app";
    const budget = { limit: kind === level ? small : PLENTY };
    if (kind === "app") return { name, kind, budget, keys: [{}, {}] };
    return { name, kind, budget, children: [node(depth + 1, `${name}-1`), node(depth + 1, `${name}-2`)] };
  };
  return node(0, level);
}

/** A call of one of the company's keys until it is refused; callers are shared out evenly over the keys. */
async function callUntilRefused(client: LoadClient, company: Company, caller: number, body: string): Promise<Answer[]> {
  const key = company.keys[caller % company.keys.length];
  if (key === undefined) return [];
  const answers: Answer[] = [];
  for (;;) {
    const answer = await client.chat({ key: key.secret, body });
    answers.push(answer);
    if (answer.status !== 200) return answers;
  }
}

interface Peak {
  readonly stop: () => Promise<bigint>;
}

/** Looks all the while whether settled and held ever stand above a limit together. */
function watchPeak(stack: BenchStack, companies: readonly Company[]): Peak {
  const limits = new Map(
    companies.flatMap((company) => [...company.budgets.values()].map((b) => [b.id, b.limitAmount])),
  );
  let isOver = false;
  let peak = 0n;
  const watching = (async () => {
    while (!isOver) {
      for (const counter of await readCounters(
        stack,
        companies.map((company) => company.organisationId),
      )) {
        const excess = counter.settled + counter.held - (limits.get(counter.budgetId) ?? PLENTY);
        if (excess > peak) peak = excess;
      }
      await delay(50);
    }
  })();
  return {
    stop: async () => {
      isOver = true;
      await watching;
      return peak;
    },
  };
}

interface Variant {
  readonly name: string;
  readonly completionTokens: number;
}

interface Outcome {
  readonly answers: readonly Answer[];
  readonly companies: readonly Company[];
  readonly peak: bigint;
  /** Whether as much was admitted as fits, budget by budget. */
  readonly fits: boolean;
}

async function runVariant(
  session: BenchSession,
  stack: BenchStack,
  client: LoadClient,
  variant: Variant,
): Promise<Outcome> {
  session.say(`${variant.name}: making four companies`);
  const make = (level: NodeKind) => createCompany(stack, { root: treeFor(level), prices: PRICES, policy: POLICY });
  const companies = await Promise.all(LEVELS.map(make));
  const sandbox = { promptTokens: 0, completionTokens: variant.completionTokens, latencyMs: LATENCY_MS };
  const body = chatBody({ model: "sandbox-large", prompt: "Overspend me.", maxTokens: MAX_TOKENS, sandbox });
  const callerOf = (index: number) => ({
    company: companies[index % companies.length],
    number: Math.floor(index / companies.length),
  });
  session.say(`${variant.name}: ${String(CALLERS)} callers begin`);
  const watch = watchPeak(stack, companies);
  const startedMs = performance.now();
  const perCaller = await inParallel(CALLERS, CALLERS, async (index) => {
    const { company, number } = callerOf(index);
    return company === undefined ? [] : callUntilRefused(client, company, number, body);
  });
  const seconds = (performance.now() - startedMs) / 1000;
  await waitQuiet(stack, companies);
  // Callers may have been refused while dearer holds stood in the way: with those gone, take what is left, one by one.
  const rest: Answer[] = [];
  for (const company of companies) {
    for (let key = 0; key < company.keys.length; key += 1)
      rest.push(...(await callUntilRefused(client, company, key, body)));
  }
  const answers = [...perCaller.flat(), ...rest];
  session.say(
    `${variant.name}: ${String(answers.length)} calls in ${seconds.toFixed(1)} s and ${String(rest.length)} afterwards`,
  );
  const peak = await watch.stop();
  await waitQuiet(stack, companies);
  return { answers, companies, peak, fits: await judgeFit(session, stack, variant, companies) };
}

/** Prints what each level admitted and says whether it is just what fits. */
async function judgeFit(
  session: BenchSession,
  stack: BenchStack,
  variant: Variant,
  companies: readonly Company[],
): Promise<boolean> {
  const standings = await readStandings(stack, companies);
  const cost = (HOLD_NANOS * BigInt(variant.completionTokens)) / BigInt(MAX_TOKENS);
  let isFit = true;
  const rows = companies.map((company, index) => {
    const small = standings.filter((one) => one.organisationId === company.organisationId && one.limit < PLENTY);
    // Another call must not fit, and every call before must have.
    const exact = small.every(
      (one) => one.held === 0n && one.settled % cost === 0n && one.limit - one.settled < HOLD_NANOS,
    );
    const all = small.length === 2 ** index && exact;
    if (!all) isFit = false;
    const settled = small.reduce((sum, one) => sum + one.settled, 0n);
    const limit = small.reduce((sum, one) => sum + one.limit, 0n);
    const calls = settled / cost;
    return [LEVELS[index] ?? "", small.length, moneyText(limit), moneyText(settled), calls, all ? "yes" : "NO"];
  });
  session.say(
    tableText([`${variant.name}: level`, "budgets", "limit USD", "settled USD", "admitted", "as many as fit"], rows),
  );
  return isFit;
}

export const bench: Bench = async (session) => {
  const stack = await startBenchStack(session);
  const client = new LoadClient(
    stack.gateways.map((gateway) => gateway.url),
    Math.ceil(CALLERS / stack.gateways.length),
  );
  session.stops.add(() => client.close());
  const outcomes = [
    await runVariant(session, stack, client, { name: "as dear as held", completionTokens: MAX_TOKENS }),
    await runVariant(session, stack, client, { name: "cheaper than held", completionTokens: CHEAP_TOKENS }),
  ];
  const answers = outcomes.flatMap((outcome) => outcome.answers);
  session.say(
    tableText(
      ["answer", "calls"],
      countBy(answers, (answer) => `${String(answer.status)} ${answer.code}`),
    ),
  );
  const answered = answers.filter((answer) => answer.status === 200).map((answer) => answer.requestId);
  const refused = answers.filter((answer) => answer.status !== 200);
  const isRefusedWell = refused.every((answer) => answer.status === 429 && answer.code.endsWith("_BUDGET_EXHAUSTED"));
  const report = await checkLaws(
    session,
    stack,
    outcomes.flatMap((outcome) => outcome.companies),
    { answered },
  );
  const peaks = outcomes.map((outcome) => outcome.peak);
  session.say(
    `settled and held together never stood more than ${String(peaks.reduce((a, b) => (a > b ? a : b)))} nanos above a limit`,
  );
  const excess = peaks.reduce((sum, peak) => (peak > sum ? peak : sum), report.excess);
  const isPass = excess === 0n && outcomes.every((outcome) => outcome.fits) && report.isHeld && isRefusedWell;
  return { figure: `${String(excess)} nanos over`, bar: "0", isPass };
};
