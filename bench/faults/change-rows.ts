/** Rows about providers, clocks, and what people change while calls run. */
import { setTimeout as pause } from "node:timers/promises";
import { archiveBudget, updateBudget } from "@/lib/control/budgets";
import { archiveConsumer, createConsumer, freezeConsumer, unfreezeConsumer } from "@/lib/control/consumers";
import { grantBudget } from "@/lib/control/grants";
import { upsertDeployment, upsertModel } from "@/lib/control/models";
import { upsertProvider } from "@/lib/control/providers";
import type { UpdateBudgetInput } from "@/lib/contracts/budgets";
import type { Budget } from "@/lib/domain/entities";
import { waitUntil } from "@/lib/services/wait";
import { testPrincipal } from "@/lib/testing/factories";
import type { UnpublishedCompany } from "../harness/company";
import { addKey, makeBudget } from "../harness/company";
import type { MeasuredProcess } from "../harness/measured-process";
import type { FaultRow, Scene, Seen } from "./scene";
import { plainBody, streamBody } from "./scene";
import { isServed, isUnavailable, p99, strangers } from "./callers";
import { skewedClock } from "./plant";
import { entriesOf, lane } from "./process-rows";
import { Relay } from "./relay";

const DOWN_MS = 2_500;
const SKEW_MS = 30_000;
const ms = (value: number): string => `${value.toFixed(0)} ms`;

/** A second provider of the same model, to which calls go where the first is away. */
async function addSecondProvider(made: UnpublishedCompany, origin: string): Promise<void> {
  const { deps, organisationId, providerSecret } = made;
  const { provider } = await upsertProvider(deps, testPrincipal, {
    organisationId,
    name: "Second",
    kind: "sandbox",
    baseUrl: `${origin}/v1`,
    secret: providerSecret,
    isExternal: false,
    billingMode: "request",
  });
  const name = "sandbox-small";
  const input = { organisationId, name, kind: "chat" as const, maxOutputTokens: 16_384, isExternal: false };
  const { model } = await upsertModel(deps, testPrincipal, input);
  await upsertDeployment(deps, testPrincipal, {
    organisationId,
    modelId: model.id,
    providerId: provider.id,
    upstreamModel: name,
    priority: 1,
  });
}

function providerDown(): FaultRow {
  let relay: Relay | undefined;
  let second: MeasuredProcess | undefined;
  const run = async (scene: Scene): Promise<Seen> => {
    const { callers, stack, company } = scene;
    scene.atEnd(async () => {
      await relay?.stop();
      await second?.child.stop();
    });
    const beganMs = performance.now();
    await relay?.stop();
    const awayMs = performance.now();
    await pause(DOWN_MS);
    const endedMs = performance.now();
    await relay?.start();
    await scene.untilServed("hard", endedMs);
    const { rows } = await stack.control.db.pool.query<{ second: string; repeated: string }>(
      `select count(*) filter (where p.name = 'Second') as second, count(*) filter (where attempt > 0) as repeated
       from ledger_entries l join providers p on p.id = l.provider_id where l.organisation_id = $1`,
      [company.organisationId],
    );
    const [elsewhere, repeated] = [Number(rows[0]?.second), Number(rows[0]?.repeated)];
    const cut = callers.heard.filter(
      (one) => one.endedMs >= beganMs && one.beganMs <= awayMs && one.answer.status >= 500,
    );
    const hard = callers.within("hard", awayMs, endedMs);
    const problems = [
      ...strangers("hard calls meanwhile", hard, isServed),
      ...strangers("soft calls meanwhile", callers.within("soft", awayMs, endedMs), isServed),
      ...(elsewhere > 0 && repeated > 0 ? [] : ["no call went to the second provider"]),
    ];
    const measured =
      `${String(hard.length)} hard calls served meanwhile, p99 ${ms(p99(hard))}; ${String(cut.length)} cut in mid-answer; ` +
      `${String(elsewhere)} calls at the second provider, ${String(repeated)} of them after an attempt at the first`;
    return { measured, problems };
  };
  return {
    fault: "provider down",
    says: "retry, breaker, fallback; the reservation follows the attempt",
    alsoBilledAt: () => (second ? [second.url] : []),
    company: async (spec, stack) => {
      relay = new Relay(stack.sandbox.url);
      await relay.start();
      // A process of its own: its bill is its own, too.
      const { url } = (second = await stack.startProgram("sandbox-second", "workers/sandbox-server.ts", {}));
      return { ...spec, providerOrigin: relay.url, extend: (made) => addSecondProvider(made, url) };
    },
    run,
  };
}

/** Long enough to run through the loss of a server and the fence after it. */
const LONG_TOKENS = 120;

async function clockSkew(scene: Scene): Promise<Seen> {
  const { plant, company, stack } = scene;
  await plant.stopWorker();
  await plant.startWorker(skewedClock(SKEW_MS));
  const skewed = await Promise.all([
    plant.startGateway(skewedClock(SKEW_MS)),
    plant.startGateway(skewedClock(-SKEW_MS)),
  ]);
  scene.atEnd(async () => {
    await Promise.all(skewed.map((gateway) => gateway.child.stop()));
    await plant.stopWorker();
    await plant.startWorker();
  });
  const long = { body: streamBody(LONG_TOKENS), isStream: true };
  const groups = skewed.map((gateway) =>
    scene.alsoCall(gateway.url, [
      lane(company, "hard"),
      lane(company, "soft"),
      lane(company, "tight"),
      ...[1, 2, 3].flatMap(() => [lane(company, "hard", long), lane(company, "soft", long)]),
    ]),
  );
  await pause(800);
  await plant.killRedis();
  await plant.startRedis();
  const backMs = performance.now();
  const served = () => groups.every((group) => group.within("hard", backMs, Infinity).some(isServed));
  const isServedAgain = await waitUntil(served, { timeoutMs: 15_000, everyMs: 20 });
  const servedMs = performance.now() - backMs;
  const bitMs = await grantBites(scene, groups);
  await pause(1_500);
  const { unseen } = await entriesOf(scene);
  const heard = groups.flatMap((group) => group.within("hard", 0, Infinity));
  const problems = [
    ...(isServedAgain ? [] : ["processes with other clocks were not served again"]),
    ...strangers("hard calls of other clocks", heard, (one) => isServed(one) || isUnavailable(one)),
    ...strangers(
      "soft calls of other clocks",
      groups.flatMap((group) => group.within("soft", 0, Infinity)),
      isServed,
    ),
    ...(bitMs <= 1_000 ? [] : [`a grant bit after ${ms(bitMs)}`]),
    ...(unseen === 0 ? [] : [`${String(unseen)} running calls were taken for dead`]),
    ...(stack.gateways.every((gateway) => !gateway.child.hasExited()) ? [] : ["a gateway fell"]),
  ];
  const measured =
    `two gateways ${String(SKEW_MS / 1000)} s ahead and behind, the worker ahead, Redis lost meanwhile: served again after ` +
    `${ms(servedMs)}, a grant made ${String(SKEW_MS / 1000)} s ahead bit everywhere after ${ms(bitMs)}, ${String(unseen)} calls taken for dead`;
  return { measured, problems };
}

/** Milliseconds until a grant, made by a process whose clock is ahead, lets calls of the full budget pass on every process. */
async function grantBites({ stack, company, callers }: Scene, groups: readonly Scene["callers"][]): Promise<number> {
  const budget = company.budgets.get("tight app");
  if (!budget) throw new Error("the company has no tight app");
  const all = [callers, ...groups];
  const isFull = () => all.every((group) => !isServed(group.heard.findLast((one) => one.side === "tight") ?? NOBODY));
  await waitUntil(isFull, { timeoutMs: 10_000, everyMs: 20 });
  const beganMs = performance.now();
  const ahead = { ...stack.control, clock: { nowMs: () => Date.now() + SKEW_MS } };
  const ref = { organisationId: company.organisationId, budgetId: budget.id };
  await grantBudget(ahead, testPrincipal, { ...ref, amount: "1000000000", reason: "a bench", endsAtMs: null });
  const passes = (group: Scene["callers"]) => group.within("tight", beganMs, Infinity).some(isServed);
  const isBitten = await waitUntil(() => all.every(passes), { timeoutMs: 5_000, everyMs: 5 });
  return isBitten ? performance.now() - beganMs : Infinity;
}

const NOBODY = {
  side: "tight",
  isStream: false,
  process: 0,
  beganMs: 0,
  endedMs: 0,
  answer: { status: 200, code: "", requestId: "", servedModel: "", decision: "", rung: "", text: "" },
} as const;

const BETWEEN_CHANGES_MS = 150;

async function changedUnderLoad(scene: Scene): Promise<Seen> {
  const { stack, company, callers } = scene;
  const { control } = stack;
  const { organisationId } = company;
  const versions = new Map<string, bigint>();
  let changes = 0;
  const beganMs = performance.now();
  const change = async (work: () => Promise<unknown>): Promise<void> => {
    await work();
    changes += 1;
    await pause(BETWEEN_CHANGES_MS);
  };
  const update = (budget: Budget, input: Omit<UpdateBudgetInput, "expectedVersion">) =>
    change(async () => {
      const expectedVersion = (versions.get(budget.id) ?? budget.limitVersion).toString();
      const ref = { organisationId, budgetId: budget.id, expectedVersion };
      const result = await updateBudget(control, testPrincipal, { ...ref, ...input });
      versions.set(budget.id, result.budget.limitVersion);
    });
  const [hard, soft] = [company.budgets.get("hard"), company.budgets.get("soft")];
  const target = { consumerId: company.nodes.get("hard app") ?? "" };
  if (!hard || !soft) throw new Error("the company lacks a budget");
  for (let round = 0; round < 3; round += 1) {
    const spec = { limit: 50_000_000_000n, models: ["sandbox-small"] };
    const fresh = await makeBudget(control, organisationId, `fresh ${String(round)}`, target, spec);
    changes += 1;
    await update(hard, { limitAmount: String(90_000_000_000 + round) });
    await update(fresh, { models: ["sandbox-large"] });
    await update(fresh, { models: [] });
    await update(fresh, { periodKind: "week" });
    await update(soft, { enforcement: "enforce" });
    await update(soft, { enforcement: "shadow" });
    await change(() => archiveBudget(control, testPrincipal, { organisationId, budgetId: fresh.id }));
    await growAndCut(scene, round, change);
  }
  const hardCalls = callers.within("hard", beganMs, Infinity);
  const problems = [
    ...strangers("hard calls", hardCalls, isServed),
    ...strangers("soft calls", callers.within("soft", beganMs, Infinity), isServed),
  ];
  const measured = `${String(changes)} changes of limits, filters, periods, enforcement and tree under ${String(hardCalls.length)} hard calls, p99 ${ms(p99(hardCalls))}, none refused`;
  return { measured, problems };
}

/** A new app with a key that is called, frozen, thawed, and put away while calls of it run. */
async function growAndCut(
  { stack, company, alsoCall }: Scene,
  round: number,
  change: (work: () => Promise<unknown>) => Promise<void>,
): Promise<void> {
  const { control } = stack;
  const { organisationId } = company;
  const name = `grown ${String(round)}`;
  const parentId = company.nodes.get("hard") ?? "";
  const { consumer } = await createConsumer(control, testPrincipal, { organisationId, parentId, kind: "app", name });
  const nodes = new Map([...company.nodes, [name, consumer.id]]);
  const key = await addKey(control, { organisationId, nodes }, name, {});
  const own = { side: "tight" as const, key: key.secret, body: plainBody(20), isStream: false, pauseMs: 5 };
  const callers = alsoCall(stack.gateways[round % stack.gateways.length]?.url ?? "", [own, own]);
  const ref = { organisationId, consumerId: consumer.id };
  await change(() => freezeConsumer(control, testPrincipal, ref));
  await change(() => unfreezeConsumer(control, testPrincipal, ref));
  await change(() => archiveConsumer(control, testPrincipal, ref));
  await callers.stop();
}

export const CHANGE_ROWS: readonly FaultRow[] = [
  providerDown(),
  {
    fault: "clocks 30 s apart",
    says: "no decision on money goes by a process's own clock",
    run: clockSkew,
  },
  {
    fault: "budgets, filters and tree changed under load",
    says: "nobody is refused for it, and every counter is its opening and its lines",
    run: changedUnderLoad,
  },
];
