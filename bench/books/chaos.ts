/** When what dies, drawn from a seed: gateways and the worker at random, Redis twice, sometimes all in one instant. */
import { setTimeout as pause } from "node:timers/promises";
import type { Fleet } from "./fleet";

const BETWEEN_KILLS_MS = [1_500, 5_000] as const;
const DOWN_MS = [100, 2_500] as const;
const REDIS_DOWN_MS = [50, 1_200] as const;
/** Past lease (5 s in this bench) and registration (6 s). */
const FROZEN_MS = [6_500, 9_500] as const;
/** Redis loses about the second that an append-only file may lose. */
const REDIS_AGE_MS = [700, 1_300] as const;
/** Parts of the run at which Redis dies. */
const REDIS_KILLS_AT = [0.33, 0.7] as const;

function within(random: () => number, [low, high]: readonly [number, number]): number {
  return low + random() * (high - low);
}

async function killAndRestart(fleet: Fleet, random: () => number): Promise<void> {
  const downMs = within(random, DOWN_MS);
  if (random() < 0.3) {
    const worker = Math.floor(random() * fleet.workerCount);
    if (!(await fleet.killWorker(worker))) return;
    await pause(downMs);
    await fleet.startWorker(worker);
    return;
  }
  const index = Math.floor(random() * fleet.gatewayCount);
  if (random() < 0.25) {
    await fleet.freezeGateway(index, within(random, FROZEN_MS));
    return;
  }
  if (!(await fleet.killGateway(index))) return;
  await pause(downMs);
  await fleet.startGateway(index);
}

/** Redis, and with it now and then a gateway and the worker: what only they knew is gone for good then. */
async function loseRedis(fleet: Fleet, random: () => number): Promise<void> {
  const isGatewayLost = random() < 0.6;
  const isWorkerLost = random() < 0.4;
  const worker = Math.floor(random() * fleet.workerCount);
  const index = Math.floor(random() * fleet.gatewayCount);
  const ageMs = within(random, REDIS_AGE_MS);
  const downMs = within(random, REDIS_DOWN_MS);
  // One that stands still through it all misses the fence from its first moment to its last.
  const frozen = random() < 0.5 ? (index + 1) % fleet.gatewayCount : null;
  const thaw = frozen === null ? undefined : fleet.freezeGateway(frozen, within(random, FROZEN_MS) + ageMs);
  await pause(within(random, [0, ageMs]));
  await Promise.all([
    fleet.killRedis(),
    isGatewayLost ? fleet.killGateway(index) : undefined,
    isWorkerLost ? fleet.killWorker(worker) : undefined,
  ]);
  await pause(downMs);
  await fleet.rollBackRedis(ageMs);
  await pause(within(random, DOWN_MS));
  await Promise.all([fleet.startGateway(index), fleet.startWorker(worker), thaw]);
}

/** Resolves after `durationMs` and once everything that was under way has ended. */
export async function wreak(fleet: Fleet, random: () => number, durationMs: number): Promise<void> {
  const startedMs = performance.now();
  const elapsed = (): number => performance.now() - startedMs;
  const underWay: Promise<void>[] = [];
  const redisKills = REDIS_KILLS_AT.map((part) => part * durationMs + within(random, [-2_000, 2_000]));
  while (elapsed() < durationMs) {
    const next = Math.min(elapsed() + within(random, BETWEEN_KILLS_MS), redisKills[0] ?? Infinity, durationMs);
    await pause(Math.max(0, next - elapsed()));
    if (elapsed() >= durationMs) break;
    if (elapsed() >= (redisKills[0] ?? Infinity)) {
      redisKills.shift();
      await loseRedis(fleet, random);
    } else {
      underWay.push(killAndRestart(fleet, random));
    }
  }
  await Promise.all(underWay);
}
