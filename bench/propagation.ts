/**
 * How long a change takes to bite everywhere. Each change is made by the real use case, in this process, as the console
 * or the admin API would make it; meanwhile every gateway process is asked all the time. Measured from the moment the
 * use case is called to the moment from which every process shows only the new behaviour: the last old answer to a call
 * that began after the change, or the first new answer of the slowest process, whichever is later.
 */
import { freezeConsumer, unfreezeConsumer } from "@/lib/control/consumers";
import { revokeApiKey } from "@/lib/control/api-keys";
import { updateBudget } from "@/lib/control/budgets";
import { publishPolicyVersion } from "@/lib/control/policies";
import { testPrincipal } from "@/lib/testing/factories";
import { setTimeout as delay } from "node:timers/promises";
import type { Company } from "./harness/company";
import { addKey, createCompany } from "./harness/company";
import { checkLaws } from "./harness/laws";
import { chatBody, LoadClient } from "./harness/load";
import type { Answer } from "./harness/load";
import type { Bench, BenchSession } from "./harness/session";
import { startBenchStack } from "./harness/stack";
import type { BenchStack } from "./harness/stack";
import { percentile, tableText } from "./harness/table";

const BAR_MS = 1_000;
const ROUNDS = 30;
/** Askers of each process: a steady load that leaves the machine room for the change itself. */
const ASKERS = 2;
/** Between an answer and the asker's next call; also how finely a change is seen. */
const PAUSE_MS = 8;
/** How long behaviour is watched after it was new everywhere, for a process that falls back. */
const WATCH_MS = 250;
const GIVE_UP_MS = 5_000;
const PLENTY = 1_000_000_000_000n;
const BODY = chatBody({
  model: "sandbox-medium",
  prompt: "Are we there yet?",
  maxTokens: 10,
  sandbox: { latencyMs: 2 },
});

/** One answer, with when its call began and when it ended (ms of performance.now). */
interface Sighting {
  readonly process: number;
  readonly beganMs: number;
  readonly endedMs: number;
  /** "200" or the code of the refusal. */
  readonly word: string;
}

/** Asks every process all the while and keeps what each answer was. */
class Poller {
  readonly requestIds: string[] = [];
  calls = 0;
  private key = "";
  private sightings: Sighting[] = [];
  private isStopping = false;
  private readonly lanes: readonly Promise<void>[];

  constructor(
    private readonly client: LoadClient,
    processes: number,
    key: string,
  ) {
    this.key = key;
    this.lanes = Array.from({ length: processes * ASKERS }, (_, index) => this.ask(index % processes));
  }

  /** Forgets what was seen and asks with this key from now on. */
  use(key: string): void {
    this.key = key;
    this.sightings = [];
  }

  seen(): readonly Sighting[] {
    return this.sightings;
  }

  async stop(): Promise<void> {
    this.isStopping = true;
    await Promise.all(this.lanes);
  }

  private async ask(process: number): Promise<void> {
    while (!this.isStopping) {
      const { key } = this;
      const beganMs = performance.now();
      const answer: Answer = await this.client.chat({ key, body: BODY }, process);
      this.calls += 1;
      if (answer.status === 200) this.requestIds.push(answer.requestId);
      // An answer to the last round's key says nothing about this round.
      if (key === this.key) {
        const word = answer.status === 200 ? "200" : answer.code;
        this.sightings.push({ process, beganMs, endedMs: performance.now(), word });
      }
      await delay(PAUSE_MS);
    }
  }
}

interface Change {
  readonly kind: string;
  /** Key to ask with; the company's steady one where absent. */
  readonly key?: string;
  readonly before: string;
  readonly after: string;
  readonly perform: () => Promise<unknown>;
}

/** Whether every process's newest answer is `word`. */
function isEverywhere(seen: readonly Sighting[], processes: number, word: string, sinceMs: number): boolean {
  return Array.from({ length: processes }, (_, process) => process).every(
    (process) => seen.findLast((one) => one.process === process && one.beganMs >= sinceMs)?.word === word,
  );
}

interface Measurement {
  readonly ms: number;
  /** When the use case had returned, in the same milliseconds. */
  readonly returnedMs: number;
  /** Old answers to calls that began after some process had already shown the new one in that process. */
  readonly flips: number;
}

/** Waits until the old behaviour is steady everywhere, makes the change and measures. Throws where it never bites. */
async function measure(poller: Poller, processes: number, steadyKey: string, change: Change): Promise<Measurement> {
  poller.use(change.key ?? steadyKey);
  const untilMs = performance.now() + GIVE_UP_MS;
  const settledMs = performance.now();
  while (!isEverywhere(poller.seen(), processes, change.before, settledMs)) {
    if (performance.now() > untilMs)
      throw new Error(`${change.kind}: the old behaviour (${change.before}) is not there: ${lastWords(poller)}`);
    await delay(2);
  }
  const startMs = performance.now();
  await change.perform();
  const returnedMs = performance.now() - startMs;
  while (!isEverywhere(poller.seen(), processes, change.after, startMs)) {
    if (performance.now() > startMs + GIVE_UP_MS)
      throw new Error(`${change.kind} did not bite in ${String(GIVE_UP_MS)} ms: ${lastWords(poller)}`);
    await delay(1);
  }
  await delay(WATCH_MS);
  const after = poller.seen().filter((one) => one.beganMs >= startMs);
  const strange = after.find((one) => one.word !== change.before && one.word !== change.after);
  if (strange) throw new Error(`${change.kind}: an answer was neither old nor new: ${strange.word}`);
  let bitMs = 0;
  let flips = 0;
  for (let process = 0; process < processes; process += 1) {
    const own = after.filter((one) => one.process === process);
    const firstNew = own
      .filter((one) => one.word === change.after)
      .reduce((low, one) => Math.min(low, one.endedMs), Infinity);
    const late = own.filter((one) => one.word === change.before && one.beganMs > firstNew);
    flips += late.length;
    // A call that began before this process knew may end after it: the moment of its beginning is what counts.
    bitMs = Math.max(bitMs, firstNew, ...late.map((one) => one.endedMs));
  }
  return { ms: bitMs - startMs, returnedMs, flips };
}

function lastWords(poller: Poller): string {
  return JSON.stringify(
    poller
      .seen()
      .slice(-6)
      .map((one) => `${String(one.process)}:${one.word}`),
  );
}

/** The changes of one round, in an order in which each finds the state it needs. */
async function changesOf(stack: BenchStack, company: Company, version: { number: bigint }): Promise<Change[]> {
  const { organisationId } = company;
  const team = company.budgets.get("team");
  const consumerId = company.nodes.get("team");
  if (team === undefined || consumerId === undefined) throw new Error("the company has no team");
  const setLimit = (limitAmount: bigint) => async () => {
    const input = {
      organisationId,
      budgetId: team.id,
      expectedVersion: version.number.toString(),
      limitAmount: limitAmount.toString(),
    };
    const { budget } = await updateBudget(stack.control, testPrincipal, input);
    version.number = budget.limitVersion;
  };
  const policy = (deny: readonly string[]) => () =>
    publishPolicyVersion(stack.control, testPrincipal, {
      organisationId,
      policyId: company.policyId,
      document: deny.length === 0 ? {} : { models: { deny: [...deny] } },
    });
  const ref = { organisationId, consumerId };
  const doomed = await addKey(stack.control, company, "app", {});
  const exhausted = "TEAM_BUDGET_EXHAUSTED";
  return [
    { kind: "limit down", before: "200", after: exhausted, perform: setLimit(1n) },
    { kind: "limit up", before: exhausted, after: "200", perform: setLimit(PLENTY) },
    {
      kind: "freeze",
      before: "200",
      after: "consumer_frozen",
      perform: () => freezeConsumer(stack.control, testPrincipal, ref),
    },
    {
      kind: "unfreeze",
      before: "consumer_frozen",
      after: "200",
      perform: () => unfreezeConsumer(stack.control, testPrincipal, ref),
    },
    { kind: "policy denies", before: "200", after: "model_not_allowed", perform: policy(["sandbox-medium"]) },
    { kind: "policy allows", before: "model_not_allowed", after: "200", perform: policy([]) },
    {
      kind: "key revoked",
      key: doomed.secret,
      before: "200",
      after: "invalid_api_key",
      perform: () => revokeApiKey(stack.control, testPrincipal, { organisationId, apiKeyId: doomed.id }),
    },
  ];
}

function printKinds(session: BenchSession, measured: ReadonlyMap<string, readonly Measurement[]>): void {
  const ms = (value: number): string => value.toFixed(1);
  const rows = [...measured].map(([kind, all]) => {
    const times = all.map((one) => one.ms);
    const returned = all.map((one) => one.returnedMs);
    const flips = all.reduce((sum, one) => sum + one.flips, 0);
    return [
      kind,
      all.length,
      ms(percentile(times, 0.5)),
      ms(percentile(times, 0.99)),
      ms(Math.max(...times)),
      ms(percentile(returned, 0.5)),
      flips,
    ];
  });
  session.say(tableText(["change", "rounds", "p50 ms", "p99 ms", "max ms", "use case p50 ms", "flip-flops"], rows));
}

export const bench: Bench = async (session) => {
  const stack = await startBenchStack(session);
  const processes = stack.gateways.length;
  const company = await createCompany(stack, {
    policy: {},
    root: {
      name: "company",
      kind: "organization",
      budget: { limit: PLENTY },
      children: [
        { name: "team", kind: "team", budget: { limit: PLENTY }, children: [{ name: "app", kind: "app", keys: [{}] }] },
      ],
    },
  });
  const steady = company.keys[0]?.secret ?? "";
  const client = new LoadClient(
    stack.gateways.map((gateway) => gateway.url),
    ASKERS,
  );
  const poller = new Poller(client, processes, steady);
  session.stops.add(async () => {
    await poller.stop();
    await client.close();
  });
  const measured = new Map<string, Measurement[]>();
  const version = { number: company.budgets.get("team")?.limitVersion ?? 1n };
  const startedMs = performance.now();
  for (let round = 1; round <= ROUNDS; round += 1) {
    for (const change of await changesOf(stack, company, version)) {
      const result = await measure(poller, processes, steady, change);
      measured.set(change.kind, [...(measured.get(change.kind) ?? []), result]);
    }
    if (round % 10 === 0)
      session.say(`${String(round)} of ${String(ROUNDS)} rounds, ${String(poller.calls)} calls so far`);
  }
  const seconds = (performance.now() - startedMs) / 1000;
  await poller.stop();
  printKinds(session, measured);
  const all = [...measured.values()].flat();
  session.say(
    `${String(all.length)} changes under ${(poller.calls / seconds).toFixed(0)} calls a second on ${String(processes)} processes`,
  );
  const report = await checkLaws(session, stack, [company], { answered: poller.requestIds });
  const flips = all.reduce((sum, one) => sum + one.flips, 0);
  const p99 = percentile(
    all.map((one) => one.ms),
    0.99,
  );
  const isPass = p99 < BAR_MS && flips === 0 && report.isHeld;
  return { figure: `p99 ${p99.toFixed(0)} ms`, bar: `${String(BAR_MS)} ms`, isPass };
};
