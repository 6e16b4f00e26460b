/** The processes that the books bench kills: three gateways, the worker and Redis, and how each comes back. */
import type { RunningRedis } from "@/lib/services/redis";
import type { MeasuredProcess } from "../harness/measured-process";
import type { BenchSession } from "../harness/session";
import type { BenchStack } from "../harness/stack";
import { AppendOnlyMarks, forbidRewrites, restartRedis } from "./redis-rollback";

export interface KillCounts {
  gatewayKills: number;
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
  readonly counts: KillCounts = { gatewayKills: 0, workerKills: 0, redisKills: 0, restarts: 0 };
  private readonly gateways: (MeasuredProcess | undefined)[];
  private worker: MeasuredProcess | undefined;
  private redis: { readonly pid: number; readonly exited: Promise<unknown> };
  private readonly marks: AppendOnlyMarks;
  private generation = 0;

  private constructor(
    private readonly session: BenchSession,
    private readonly stack: BenchStack,
  ) {
    this.gateways = [...stack.gateways];
    this.worker = stack.worker;
    this.redis = stack.redis.child;
    this.marks = new AppendOnlyMarks(stack.redisFolder);
    session.stops.add(async () => this.marks.stop());
  }

  static async of(session: BenchSession, stack: BenchStack): Promise<Fleet> {
    await forbidRewrites(stack.store);
    return new Fleet(session, stack);
  }

  /** Where gateways listen that are up. */
  urls(): string[] {
    return this.gateways.flatMap((gateway) => (gateway ? [gateway.url] : []));
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

  async killWorker(): Promise<boolean> {
    const { worker } = this;
    if (!worker) return false;
    this.worker = undefined;
    this.counts.workerKills += 1;
    this.session.say("kill -9 worker");
    await killHard(worker.pid, worker.child.exited);
    return true;
  }

  async startWorker(): Promise<void> {
    if (this.worker) return;
    this.worker = await this.stack.startWorker();
    this.counts.restarts += 1;
  }

  async killRedis(): Promise<void> {
    this.counts.redisKills += 1;
    await killHard(this.redis.pid, this.redis.exited);
  }

  /** Brings Redis back as it was about `ageMs` before it was killed. */
  async rollBackRedis(ageMs: number): Promise<void> {
    const { ageMs: age, lostBytes } = this.marks.cutBack(ageMs);
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
    await this.startWorker();
  }
}
