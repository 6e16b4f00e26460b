/** The processes that the books bench kills: three gateways, the worker and Redis, and how each comes back. */
import { setTimeout as pause } from "node:timers/promises";
import type { RunningRedis } from "@/lib/services/redis";
import type { MeasuredProcess } from "../harness/measured-process";
import type { BenchSession } from "../harness/session";
import type { BenchStack } from "../harness/stack";
import { AppendOnlyMarks, forbidRewrites, restartRedis } from "./redis-rollback";

export interface KillCounts {
  gatewayKills: number;
  gatewayFreezes: number;
  workerKills: number;
  redisKills: number;
  restarts: number;
}

/** kill -9: no handler runs, nothing is delivered, sockets are closed by the kernel. */
async function killHard(pid: number, exited: Promise<unknown>): Promise<void> {
  process.kill(pid, "SIGKILL");
  await exited;
}

export class Fleet {
  readonly counts: KillCounts = { gatewayKills: 0, gatewayFreezes: 0, workerKills: 0, redisKills: 0, restarts: 0 };
  private readonly gateways: (MeasuredProcess | undefined)[];
  private readonly workers: (MeasuredProcess | undefined)[];
  private redis: { readonly pid: number; readonly exited: Promise<unknown> };
  private readonly marks: AppendOnlyMarks;
  private readonly frozen = new Set<string>();
  private redisKilledAtMs = 0;
  private generation = 0;

  private constructor(
    private readonly session: BenchSession,
    private readonly stack: BenchStack,
  ) {
    this.gateways = [...stack.gateways];
    this.workers = [stack.worker, undefined];
    this.redis = stack.redis.child;
    this.marks = new AppendOnlyMarks(stack.redisFolder);
    session.stops.add(async () => this.marks.stop());
  }

  static async of(session: BenchSession, stack: BenchStack): Promise<Fleet> {
    await forbidRewrites(stack.store);
    const fleet = new Fleet(session, stack);
    // A second worker, so that one goes on booking what the other died with or recovers what it still has in hand.
    await fleet.startWorker(1);
    fleet.counts.restarts = 0;
    return fleet;
  }

  /** Where gateways listen that are up. */
  urls(): string[] {
    return this.gateways.flatMap((gateway) => (gateway ? [gateway.url] : []));
  }

  /** Those of them that never stood still: what they knew nothing but they themselves can have lost. */
  steadyUrls(): string[] {
    return this.urls().filter((url) => !this.frozen.has(url));
  }

  get gatewayCount(): number {
    return this.gateways.length;
  }

  /** Kills one gateway; false where it is down already. */
  async killGateway(index: number): Promise<boolean> {
    const gateway = this.gateways[index];
    if (!gateway) return false;
    this.gateways[index] = undefined;
    this.counts.gatewayKills += 1;
    this.session.say(`kill -9 gateway ${String(index + 1)}`);
    await killHard(gateway.pid, gateway.child.exited);
    return true;
  }

  async startGateway(index: number): Promise<void> {
    if (this.gateways[index]) return;
    this.generation += 1;
    this.gateways[index] = await this.stack.startGateway(`gateway-${String(index + 1)}-${String(this.generation)}`);
    this.counts.restarts += 1;
  }

  /**
   * Stops one gateway for a while without ending it, as a paused virtual machine does; false where it is down. Longer than
   * a lease and a registration, so its calls expire and a recovery does not wait for it; then it goes on, knowing nothing.
   */
  async freezeGateway(index: number, forMs: number): Promise<boolean> {
    const gateway = this.gateways[index];
    if (!gateway) return false;
    this.counts.gatewayFreezes += 1;
    this.frozen.add(gateway.url);
    this.session.say(`gateway ${String(index + 1)} stands still for ${String(Math.round(forMs))} ms`);
    process.kill(gateway.pid, "SIGSTOP");
    await pause(forMs);
    if (!gateway.child.hasExited()) process.kill(gateway.pid, "SIGCONT");
    return true;
  }

  get workerCount(): number {
    return this.workers.length;
  }

  async killWorker(index: number): Promise<boolean> {
    const worker = this.workers[index];
    if (!worker) return false;
    this.workers[index] = undefined;
    this.counts.workerKills += 1;
    this.session.say(`kill -9 worker ${String(index + 1)}`);
    await killHard(worker.pid, worker.child.exited);
    return true;
  }

  async startWorker(index: number): Promise<void> {
    if (this.workers[index]) return;
    this.workers[index] = await this.stack.startWorker();
    this.counts.restarts += 1;
  }

  async killRedis(): Promise<void> {
    this.counts.redisKills += 1;
    this.redisKilledAtMs = performance.now();
    await killHard(this.redis.pid, this.redis.exited);
  }

  /** Brings Redis back as it was about `ageMs` before it was killed. */
  async rollBackRedis(ageMs: number): Promise<void> {
    const { ageMs: age, lostBytes } = this.marks.cutBack(this.redisKilledAtMs, ageMs);
    const redis: RunningRedis = await restartRedis(this.stack.redisFolder, this.stack.redisUrl);
    this.redis = redis.child;
    this.session.stops.add(redis.stop);
    this.counts.restarts += 1;
    this.session.say(
      `kill -9 Redis; it is back ${String(age)} ms older, ${String(lostBytes)} bytes of writes are lost`,
    );
  }

  /** Whatever is down comes up. */
  async reviveAll(): Promise<void> {
    this.marks.stop();
    await Promise.all([...this.gateways.keys()].map((index) => this.startGateway(index)));
    await Promise.all([...this.workers.keys()].map((index) => this.startWorker(index)));
  }
}
