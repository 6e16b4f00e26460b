/** One row of the table: a company of its own under load, a fault, its healing, and the books afterwards. */
import { setTimeout as pause } from "node:timers/promises";
import { keysOf } from "@/lib/redis/keys";
import { waitUntil } from "@/lib/services/wait";
import { reconcileAll } from "../books/reconcile";
import type { Attempt } from "../books/traffic";
import type { Findings } from "../books/verify";
import { verify } from "../books/verify";
import type { Company, CompanySpec } from "../harness/company";
import { createCompany } from "../harness/company";
import { chatBody, LoadClient } from "../harness/load";
import type { BenchSession } from "../harness/session";
import type { BenchStack } from "../harness/stack";
import { waitQuiet } from "../harness/three-books";
import type { Lane, Side } from "./callers";
import { Callers, isServed } from "./callers";
import type { Plant } from "./plant";

export interface Scene {
  readonly plant: Plant;
  readonly stack: BenchStack;
  readonly company: Company;
  readonly callers: Callers;
  /** More callers, of a process beside the stack's own. Their answers count for the books, too. */
  alsoCall(url: string, lanes: readonly Lane[]): Callers;
  /** Done once everything is at rest, last said first. */
  atEnd(work: () => Promise<unknown>): void;
  /** Milliseconds from `sinceMs` until every process serves the side again. Throws after `timeoutMs`. */
  untilServed(side: Side, sinceMs: number, timeoutMs?: number): Promise<number>;
}

export interface Seen {
  /** What was measured, in words. */
  readonly measured: string;
  /** What was not as the table says. */
  readonly problems: readonly string[];
}

export interface FaultRow {
  readonly fault: string;
  /** As the table has it. */
  readonly says: string;
  readonly run: (scene: Scene) => Promise<Seen>;
  /** Other than usual. */
  readonly company?: (spec: CompanySpec, stack: BenchStack) => Promise<CompanySpec>;
  readonly lanes?: (usual: readonly Lane[]) => readonly Lane[];
  /** Origins of sandboxes beside the stack's own that sell to the company, too. */
  readonly alsoBilledAt?: () => readonly string[];
}

export interface RowResult {
  readonly row: FaultRow;
  readonly seen: Seen;
  readonly calls: number;
  readonly findings: Findings;
  readonly problems: readonly string[];
}

const USD = 1_000_000_000n;
const MODEL = "sandbox-small";
const TOKENS = 16;
const STREAM_TOKENS = 40;
const CHUNK_MS = 40;
/** Room for some hundred calls of one lane: it runs out in the middle of most faults. */
const TIGHT_LIMIT = 2_500_000n;
const BEFORE_MS = 600;
const AFTER_MS = 400;
const QUIET_TIMEOUT_MS = 20_000;

const COMPANY: CompanySpec = {
  policy: { clientGone: "drain", unknownOutcome: "hold" },
  root: {
    name: "company",
    kind: "organization",
    budget: { limit: 1_000n * USD, enforcement: "warn" },
    children: [
      {
        name: "hard",
        kind: "department",
        budget: { limit: 100n * USD, periodKind: "day" },
        children: [
          { name: "hard app", kind: "app", keys: [{}] },
          { name: "tight app", kind: "app", budget: { limit: TIGHT_LIMIT }, keys: [{}] },
        ],
      },
      {
        name: "soft",
        kind: "department",
        budget: { limit: 100n * USD, enforcement: "shadow" },
        children: [{ name: "soft app", kind: "app", budget: { limit: 1n, enforcement: "warn" }, keys: [{}] }],
      },
    ],
  },
};

export function plainBody(latencyMs = 5): string {
  const sandbox = { latencyMs, completionTokens: TOKENS };
  return chatBody({ model: MODEL, prompt: "Is anybody there?", maxTokens: TOKENS, sandbox });
}

/** It takes 40 ms a token. */
export function streamBody(tokens = STREAM_TOKENS): string {
  const sandbox = { completionTokens: tokens, chunkDelayMs: CHUNK_MS };
  return chatBody({ model: MODEL, prompt: "Tell me more.", maxTokens: tokens * 2, stream: true, sandbox });
}

export function keyOf(company: Company, app: string): string {
  const key = company.keys.find((one) => one.app === app);
  if (!key) throw new Error(`the company has no ${app}`);
  return key.secret;
}

/** On each process: whole calls and a stream of the hard and the soft side, and now and then one of the tight. */
function usualLanes(company: Company, processes: number): Lane[] {
  const lanes: Lane[] = [];
  const everywhere = (side: Side, isStream: boolean, pauseMs: number): void => {
    const lane = { side, key: keyOf(company, `${side} app`), body: isStream ? streamBody() : plainBody() };
    for (let process = 0; process < processes; process += 1) lanes.push({ ...lane, isStream, pauseMs });
  };
  everywhere("hard", false, 15);
  everywhere("soft", false, 15);
  everywhere("hard", true, 15);
  everywhere("soft", true, 15);
  everywhere("tight", false, 15);
  return lanes;
}

/** Everything delivered, booked and applied; false where that does not come in time. */
export async function comesToRest(plant: Plant, company: Company): Promise<boolean> {
  const { stack } = plant;
  const { organisationId } = company;
  const isAtRest = async (): Promise<boolean> => {
    if (plant.journalled() > 0 || !(await waitQuiet(stack, [company], 100))) return false;
    const { rows } = await stack.control.db.pool.query<{ sequence: string }>(
      "select correction_sequence::text as sequence from organisations where id = $1",
      [organisationId],
    );
    return ((await stack.store.redis.get(keysOf(organisationId).appliedSequence)) ?? "0") === rows[0]?.sequence;
  };
  return waitUntil(() => isAtRest().catch(() => false), { timeoutMs: QUIET_TIMEOUT_MS, everyMs: 50 });
}

function attemptsOf(groups: readonly Callers[]): Attempt[] {
  return groups
    .flatMap((callers) => callers.heard)
    .map(({ isStream, answer }) => ({
      kind: isStream ? "stream" : "whole",
      status: answer.status,
      requestId: answer.requestId,
      url: "",
      isWhole: answer.status === 200,
      isHungUp: false,
      isRetry: false,
    }));
}

async function untilServed(callers: Callers, processes: number, side: Side, sinceMs: number, timeoutMs: number) {
  let servedMs = 0;
  const isBack = (): boolean => {
    const firsts = Array.from({ length: processes }, (_, process) =>
      callers.heard.find(
        (one) =>
          one.side === side && !one.isStream && one.process === process && one.beganMs > sinceMs && isServed(one),
      ),
    );
    servedMs = Math.max(...firsts.map((one) => one?.endedMs ?? Infinity));
    return Number.isFinite(servedMs);
  };
  if (!(await waitUntil(isBack, { timeoutMs, everyMs: 10 }))) {
    throw new Error(`the ${side} side was not served within ${String(timeoutMs)} ms`);
  }
  return servedMs - sinceMs;
}

/** Runs one row to its end: load before, fault, healing, load after, quiet, bill, books. */
export async function runRow(session: BenchSession, plant: Plant, row: FaultRow): Promise<RowResult> {
  const { stack } = plant;
  const urls = stack.gateways.map(({ url }) => url);
  const company = await createCompany(stack, (await row.company?.(COMPANY, stack)) ?? COMPANY);
  const usual = usualLanes(company, urls.length);
  const groups: Callers[] = [];
  const ends: (() => Promise<unknown>)[] = [];
  const callOn = (processes: readonly string[], lanes: readonly Lane[]): Callers => {
    const client = new LoadClient(processes, lanes.length);
    session.stops.add(() => client.close());
    ends.push(() => client.close());
    const made = new Callers(client, processes.length, lanes);
    groups.push(made);
    return made;
  };
  const callers = callOn(urls, row.lanes?.(usual) ?? usual);
  const scene: Scene = {
    plant,
    stack,
    company,
    callers,
    alsoCall: (url, lanes) => callOn([url], lanes),
    atEnd: (work) => ends.push(work),
    untilServed: (side, sinceMs, timeoutMs = 15_000) => untilServed(callers, urls.length, side, sinceMs, timeoutMs),
  };
  await pause(BEFORE_MS);
  let seen: Seen;
  try {
    seen = await row.run(scene);
  } catch (error) {
    seen = { measured: "", problems: [error instanceof Error ? error.message : String(error)] };
    // Said at once: with the fault still there, the books may not be reached.
    session.say(`the row broke off: ${String(seen.problems[0])}`);
  }
  await pause(AFTER_MS);
  await Promise.all(groups.map((group) => group.stop()));
  const isAtRest = await comesToRest(plant, company);
  const reconciled = await reconcileAll(stack, [company]);
  await comesToRest(plant, company);
  const attempts = attemptsOf(groups);
  const billed = { ...company, alsoBilledAt: row.alsoBilledAt?.() ?? [] };
  const findings = await verify(stack, [billed], attempts, reconciled, isAtRest);
  for (const end of ends.reverse()) await end();
  const broken = findings.checks.filter((check) => !check.isHeld).map((check) => `${check.name}: ${check.detail}`);
  return { row, seen, calls: attempts.length, findings, problems: [...seen.problems, ...broken] };
}
