/** Rows about Redis. */
import { setTimeout as pause } from "node:timers/promises";
import { keysOf } from "@/lib/redis/keys";
import { waitUntil } from "@/lib/services/wait";
import type { FaultRow, Scene, Seen } from "./scene";
import { isServed, isUnavailable, p99, strangers } from "./callers";

const DOWN_MS = 2_500;
/** What was under way when it began is neither here nor there. */
const SETTLING_MS = 200;
/** "At once": far below what a client waits for an answer. The store's own deadline is 150 ms. */
const AT_ONCE_MS = { down: 100, slow: 500 };
const BACK_WITHIN_MS = 10_000;

const ms = (value: number): string => `${value.toFixed(0)} ms`;

interface Outage {
  readonly name: "down" | "slow";
  readonly begin: () => unknown;
  readonly end: () => unknown;
}

/** What callers hear while the store is away and after it, and how much was noted on disk. */
async function outage(scene: Scene, { name, begin, end }: Outage): Promise<Seen> {
  const { callers, plant } = scene;
  const beganMs = performance.now();
  await begin();
  const awayMs = performance.now();
  await pause(DOWN_MS);
  const journalled = plant.journalled();
  const endedMs = performance.now();
  await end();
  const backMs = performance.now();
  const servedMs = await scene.untilServed("hard", backMs);
  const hard = callers.within("hard", awayMs + SETTLING_MS, endedMs);
  const soft = callers.within("soft", beganMs, performance.now());
  const refusedMs = p99(hard.filter(isUnavailable));
  const problems = [
    ...strangers("hard calls meanwhile", hard, isUnavailable),
    ...strangers("soft calls", soft, isServed),
    ...(refusedMs <= AT_ONCE_MS[name] ? [] : [`a refusal took ${ms(refusedMs)} (p99)`]),
    ...(journalled > 0 ? [] : ["nothing was noted on disk"]),
    ...(servedMs <= BACK_WITHIN_MS ? [] : [`hard calls came back after ${ms(servedMs)}`]),
  ];
  const passed = soft.filter((one) => one.beganMs >= awayMs && one.endedMs <= endedMs);
  const measured =
    `${String(hard.length)} hard calls refused, p99 ${ms(refusedMs)}; ${String(passed.length)} soft calls passed, ` +
    `p99 ${ms(p99(passed))}, ${String(journalled)} on disk; hard calls served ${ms(servedMs)} after it was back`;
  return { measured, problems };
}

/** The fence: nothing but served and unavailable is heard, and it ends by itself. */
async function fence(scene: Scene, lose: () => Promise<void>): Promise<Seen> {
  const { callers } = scene;
  const beganMs = performance.now();
  await lose();
  const backMs = performance.now();
  const servedMs = await scene.untilServed("hard", backMs);
  const untilMs = performance.now();
  const hard = callers.within("hard", beganMs, untilMs);
  const fenced = hard.filter((one) => one.beganMs >= backMs && isUnavailable(one));
  const soft = callers.within("soft", beganMs, untilMs);
  const problems = [
    ...strangers("hard calls", hard, (one) => isServed(one) || isUnavailable(one)),
    ...strangers("soft calls", soft, isServed),
    ...(servedMs <= BACK_WITHIN_MS ? [] : [`hard calls came back after ${ms(servedMs)}`]),
  ];
  const measured =
    `${String(fenced.length)} hard calls refused behind the fence; ${String(soft.length)} soft calls passed; ` +
    `served by every process ${ms(servedMs)} after it was back`;
  return { measured, problems };
}

/** Counters are rebuilt from something. */
async function untilBooked({ stack, company }: Scene): Promise<void> {
  const isBooked = async (): Promise<boolean> => {
    const { rowCount } = await stack.control.db.pool.query(
      "select 1 from ledger_entries where organisation_id = $1 limit 1",
      [company.organisationId],
    );
    return rowCount === 1;
  };
  await waitUntil(isBooked, { timeoutMs: 5_000, everyMs: 20 });
}

export const STORE_ROWS: readonly FaultRow[] = [
  {
    fault: "Redis down",
    says: "hard budgets 503 at once; soft budgets pass, are noted on disk and booked on healing",
    run: (scene) =>
      outage(scene, {
        name: "down",
        begin: () => scene.plant.killRedis(),
        end: () => scene.plant.startRedis(),
      }),
  },
  {
    fault: "Redis slow",
    says: "the same: who does not answer in time is away",
    run: (scene) =>
      outage(scene, {
        name: "slow",
        begin: () => scene.plant.pauseRedis(),
        end: () => scene.plant.resumeRedis(),
      }),
  },
  {
    fault: "Redis failed over, a second older",
    says: "fenced until every gateway has announced; what was lost is told again; nothing twice",
    run: (scene) =>
      fence(scene, async () => {
        await scene.plant.killRedis();
        await scene.plant.startRedis({ ageMs: 1_000 });
      }),
  },
  {
    fault: "Redis emptied",
    says: "the same, after counters are rebuilt from the ledger's lines; nobody's key is unknown",
    run: (scene) =>
      fence(scene, async () => {
        await untilBooked(scene);
        await scene.plant.killRedis();
        await scene.plant.startRedis({ isEmpty: true });
      }),
  },
  {
    fault: "Redis emptied in place",
    says: "the same, also where every gateway has announced to this very server before",
    run: (scene) =>
      fence(scene, async () => {
        await untilBooked(scene);
        await scene.stack.store.redis.flushall();
      }),
  },
  {
    fault: "snapshot lost",
    says: "hard budgets 503 until the worker publishes again, soft ones pass, nobody's key is unknown",
    run: (scene) =>
      fence(scene, async () => {
        const { epoch, snapshot, apiKeys, changes, limit } = keysOf(scene.company.organisationId);
        const limits = [...scene.company.budgets.values()].map((budget) => limit(budget.id));
        await scene.stack.store.redis.del(epoch, snapshot, apiKeys, changes, ...limits);
      }),
  },
];
