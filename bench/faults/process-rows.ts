/** Rows about Postgres, the worker and gateway processes. */
import { setTimeout as pause } from "node:timers/promises";
import { join } from "node:path";
import { keysOf } from "@/lib/redis/keys";
import { waitUntil } from "@/lib/services/wait";
import type { Company } from "../harness/company";
import type { FaultRow, Scene, Seen } from "./scene";
import { keyOf, plainBody, streamBody } from "./scene";
import type { Lane, Side } from "./callers";
import { isServed, isUnavailable, p99, strangers } from "./callers";

const DOWN_MS = 2_500;
/** Past the lease of a killed process and the sweeper's next round. */
const LEASE_OVER_MS = 7_500;
const ms = (value: number): string => `${value.toFixed(0)} ms`;

export function lane(company: Company, side: Side, changes: Partial<Lane> = {}): Lane {
  const made = { side, key: keyOf(company, `${side} app`), body: plainBody(), isStream: false, pauseMs: 15 };
  return { ...made, ...changes };
}

/** Entries of the company, and how many of them are guesses of the sweeper. */
export async function entriesOf({ stack, company }: Scene): Promise<{ unseen: number; counted: number }> {
  const { rows } = await stack.control.db.pool.query<{ unseen: string; counted: string }>(
    `select count(*) filter (where outcome in ('unknown', 'expired')) as unseen,
       count(*) filter (where outcome = 'expired' and (usage->>'outputTokens')::int > 0) as counted
     from ledger_entries where organisation_id = $1 and kind = 'usage'`,
    [company.organisationId],
  );
  return { unseen: Number(rows[0]?.unseen), counted: Number(rows[0]?.counted) };
}

function waiting({ stack, company }: Scene): Promise<number> {
  return stack.store.redis.xlen(keysOf(company.organisationId).usage);
}

async function postgresDown(scene: Scene): Promise<Seen> {
  const { plant, callers } = scene;
  const beganMs = performance.now();
  await plant.stopPostgres();
  await pause(DOWN_MS);
  const health = await fetch(`${plant.workerUrl}/health`);
  const said = (await health.json()) as { postgres: boolean };
  const most = await waiting(scene);
  await plant.startPostgres();
  const backMs = performance.now();
  const isBooked = await waitUntil(async () => (await waiting(scene)) < most / 4, { timeoutMs: 10_000, everyMs: 20 });
  const bookedMs = performance.now() - backMs;
  const hard = callers.within("hard", beganMs, backMs);
  const problems = [
    ...strangers("hard calls", hard, isServed),
    ...strangers("soft calls", callers.within("soft", beganMs, backMs), isServed),
    ...(most > 0 ? [] : ["no usage waited in the stream"]),
    ...(health.status === 503 && !said.postgres ? [] : ["the worker's health page did not say so"]),
    ...(isBooked ? [] : ["what waited was not booked in 10 s"]),
  ];
  const measured = `${String(hard.length)} hard calls served, p99 ${ms(p99(hard))}; ${String(most)} events waited, booked ${ms(bookedMs)} after it was back; the health page says so`;
  return { measured, problems };
}

async function workerDown(scene: Scene): Promise<Seen> {
  const { plant, callers, stack } = scene;
  const beganMs = performance.now();
  await plant.killWorker();
  const isPastBound = (): boolean => callers.within("hard", beganMs, Infinity).some(isUnavailable);
  await waitUntil(isPastBound, { timeoutMs: 10_000, everyMs: 20 });
  const pastMs = performance.now();
  // Each process sees it with its next heartbeat.
  await pause(1_200);
  const fullMs = performance.now();
  await pause(600);
  const most = await waiting(scene);
  const journalled = plant.journalled();
  const endedMs = performance.now();
  await plant.startWorker();
  const servedMs = await scene.untilServed("hard", endedMs, 25_000);
  const before = callers.within("hard", beganMs, pastMs).filter(isServed).length;
  const problems = [
    ...strangers("hard calls past the bound", callers.within("hard", fullMs, endedMs), isUnavailable),
    ...strangers("soft calls", callers.within("soft", beganMs, endedMs), isServed),
    ...(journalled > 0 ? [] : ["nothing was noted on disk"]),
    ...((await stack.store.redis.xlen(keysOf(scene.company.organisationId).deadUsage)) === 0 ? [] : ["dead letters"]),
  ];
  const measured =
    `${String(before)} hard calls served; past the bound ${String(most)} events waited, soft calls passed, ` +
    `${String(journalled)} on disk; hard calls served ${ms(servedMs)} after it was started`;
  return { measured, problems };
}

/** A gateway process beside the three, with callers of its own. */
async function gatewayKilled(scene: Scene): Promise<Seen> {
  const { plant, company } = scene;
  const doomed = await plant.startGateway();
  const slow = { body: plainBody(150) };
  // Still running when the process is killed, and renewed with what was counted by then.
  const stream = { body: streamBody(100), isStream: true };
  const callers = scene.alsoCall(doomed.url, [
    ...[1, 2, 3, 4].map(() => lane(company, "hard", slow)),
    ...[1, 2, 3, 4].map(() => lane(company, "soft", slow)),
    ...[1, 2, 3].map(() => lane(company, "hard", stream)),
  ]);
  await pause(2_200);
  await plant.killGateway(doomed);
  await callers.stop();
  const cut = callers.heard.filter((one) => one.answer.status === 0).length;
  await pause(LEASE_OVER_MS);
  const { unseen, counted } = await entriesOf(scene);
  const problems = [
    ...(cut > 0 ? [] : ["no call was under way"]),
    ...(unseen > 0 ? [] : ["nothing was booked of what it held"]),
    ...(counted > 0 ? [] : ["no stream was booked at what was counted"]),
    ...strangers("hard calls of the others", scene.callers.within("hard", 0, Infinity), isServed),
  ];
  const measured = `${String(cut)} calls cut; ${String(unseen)} reservations expired, ${String(counted)} of them streams at their last counted usage`;
  return { measured, problems };
}

async function killedWithJournal(scene: Scene): Promise<Seen> {
  const { plant, company } = scene;
  const doomed = await plant.startGateway();
  const stream = { body: streamBody(), isStream: true };
  const callers = scene.alsoCall(doomed.url, [
    lane(company, "soft"),
    lane(company, "soft", { body: plainBody(80) }),
    lane(company, "soft", stream),
    lane(company, "hard", { body: plainBody(600) }),
  ]);
  await pause(700);
  await plant.killRedis();
  const awayMs = performance.now();
  await pause(1_200);
  const others = plant.journalled();
  await plant.killGateway(doomed);
  await callers.stop();
  const passed = callers.within("soft", awayMs + 100, Infinity).filter(isServed).length;
  await plant.startRedis();
  const backMs = performance.now();
  const servedMs = await scene.untilServed("hard", backMs);
  const isTaken = await waitUntil(() => plant.journalled() === 0, { timeoutMs: 15_000, everyMs: 50 });
  const takenMs = performance.now() - backMs;
  const problems = [
    ...(passed > 0 ? [] : ["the killed process let nothing pass"]),
    ...(isTaken ? [] : [`${String(plant.journalled())} calls are still in journals`]),
  ];
  const measured =
    `${String(passed)} soft calls of the killed process answered meanwhile, ${String(others)} calls on disk; hard calls served ` +
    `${ms(servedMs)} after Redis was back, the last journal booked after ${ms(takenMs)}`;
  return { measured, problems };
}

/** Files of one process may have 64 KiB: what it writes beyond fails as on a full disk. */
const DISK_KIB = 64;

async function diskFull(scene: Scene): Promise<Seen> {
  const { plant, company, stack } = scene;
  const folder = join(stack.folder, "full");
  plant.dataFolders.add(folder);
  const cramped = await plant.startGateway([], { env: { SPILLWAY_DATA_DIR: folder }, maxFileKib: DISK_KIB });
  scene.atEnd(async () => {
    await cramped.child.stop();
    plant.dataFolders.delete(folder);
  });
  const callers = scene.alsoCall(cramped.url, [lane(company, "soft"), lane(company, "soft"), lane(company, "hard")]);
  await pause(600);
  await plant.killRedis();
  const awayMs = performance.now();
  await pause(DOWN_MS);
  const endedMs = performance.now();
  await plant.startRedis();
  await scene.untilServed("hard", performance.now());
  const isBack = () => callers.within("soft", endedMs, Infinity).some(isServed);
  const isServedAgain = await waitUntil(isBack, { timeoutMs: 10_000, everyMs: 20 });
  const soft = callers.within("soft", awayMs + 200, endedMs);
  const passed = soft.filter(isServed).length;
  const refused = soft.length - passed;
  const problems = [
    ...strangers("soft calls of the full disk", soft, (one) => isServed(one) || isUnavailable(one)),
    ...strangers("soft calls of the others", scene.callers.within("soft", 0, Infinity), isServed),
    ...(passed > 0 && refused > 0 ? [] : [`${String(passed)} passed and ${String(refused)} were refused`]),
    ...(isServedAgain ? [] : ["soft calls of the full disk did not come back"]),
  ];
  const measured = `with ${String(DISK_KIB)} KiB for its files ${String(passed)} soft calls passed before ${String(refused)} were refused; the other processes let all pass`;
  return { measured, problems };
}

export const PROCESS_ROWS: readonly FaultRow[] = [
  {
    fault: "Postgres down",
    says: "gateway unaffected; usage waits in the stream; the health page says so",
    run: postgresDown,
  },
  {
    fault: "worker down",
    says: "usage waits in the stream, never trimmed; past a bound soft budgets go by the journal and hard ones get 503",
    lanes: (usual) => [
      ...usual,
      ...usual
        .filter((one) => one.side === "hard" && !one.isStream)
        .flatMap((one) => Array.from({ length: 3 }, () => ({ ...one, pauseMs: 0 }))),
    ],
    run: workerDown,
  },
  {
    fault: "gateway killed",
    says: "its reservations expire at last counted usage, once",
    run: gatewayKilled,
  },
  {
    fault: "gateway killed while Redis is down",
    says: "its journal is taken over by another process and booked once",
    run: killedWithJournal,
  },
  {
    fault: "disk full for the journal",
    says: "soft budgets 503 as hard ones do; what passed before is booked",
    run: diskFull,
  },
];
