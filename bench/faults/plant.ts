/** The processes that fail, how they are made to, and how they come back. */
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { readLines } from "@/lib/journal/lines";
import type { Child } from "@/lib/services/child";
import { startPostgres } from "@/lib/services/postgres";
import { waitUntil } from "@/lib/services/wait";
import { AppendOnlyMarks, forbidRewrites, restartRedis } from "../books/redis-rollback";
import type { MeasuredProcess } from "../harness/measured-process";
import type { BenchSession } from "../harness/session";
import type { BenchStack, Conditions } from "../harness/stack";

async function killHard(child: Child): Promise<void> {
  process.kill(child.pid, "SIGKILL");
  await child.exited;
}

/** Arguments of Node for a process whose clock is off by so much. Timers are not concerned, as on a machine whose clock is off. */
export function skewedClock(aheadMs: number): string[] {
  const code = `const True = Date; const off = ${String(aheadMs)};
    globalThis.Date = class Date extends True {
      constructor(...given) { given.length === 0 ? super(True.now() + off) : super(...given); }
      static now() { return True.now() + off; }
    };`;
  return ["--import", `data:text/javascript,${encodeURIComponent(code)}`];
}

export class Plant {
  private redis: Child;
  private postgres: Child;
  private worker: MeasuredProcess | undefined;
  private readonly marks: AppendOnlyMarks;
  private redisKilledAtMs = 0;
  private started = 0;
  /** Data folders beside the stack's own. */
  readonly dataFolders = new Set<string>();

  private constructor(
    private readonly session: BenchSession,
    readonly stack: BenchStack,
  ) {
    this.redis = stack.redis.child;
    this.postgres = stack.postgres.child;
    this.worker = stack.worker;
    this.marks = new AppendOnlyMarks(stack.redisFolder);
    session.stops.add(async () => this.marks.stop());
  }

  static async of(session: BenchSession, stack: BenchStack): Promise<Plant> {
    await forbidRewrites(stack.store);
    return new Plant(session, stack);
  }

  async killRedis(): Promise<void> {
    this.redisKilledAtMs = performance.now();
    await killHard(this.redis);
  }

  /** It stands still: connections stay open and nothing is answered. */
  pauseRedis(): void {
    process.kill(this.redis.pid, "SIGSTOP");
  }

  resumeRedis(): void {
    process.kill(this.redis.pid, "SIGCONT");
  }

  /** Brings Redis back with what it had, with what it had `ageMs` before it was killed, or with nothing. */
  async startRedis(how: { readonly ageMs?: number; readonly isEmpty?: boolean } = {}): Promise<void> {
    if (how.ageMs !== undefined) this.marks.cutBack(this.redisKilledAtMs, how.ageMs);
    if (how.isEmpty) rmSync(join(this.stack.redisFolder, "appendonlydir"), { recursive: true });
    const redis = await restartRedis(this.stack.redisFolder, this.stack.redisUrl);
    this.redis = redis.child;
    this.session.stops.add(redis.stop);
    await waitUntil(() => this.stack.store.runId() !== undefined, { timeoutMs: 10_000, everyMs: 10 });
    await forbidRewrites(this.stack.store);
  }

  /** Ends every session and refuses connections, as an operator's restart does. */
  async stopPostgres(): Promise<void> {
    await this.postgres.stop();
  }

  async startPostgres(): Promise<void> {
    const port = Number(new URL(this.stack.databaseUrl).port);
    const dataDir = join(this.stack.folder, "postgres");
    const postgres = await startPostgres({ dataDir, port, durable: false });
    this.postgres = postgres.child;
    this.session.stops.add(postgres.stop);
  }

  get workerUrl(): string {
    return this.worker?.url ?? "";
  }

  async stopWorker(): Promise<void> {
    const { worker } = this;
    this.worker = undefined;
    await worker?.child.stop();
  }

  async killWorker(): Promise<void> {
    const { worker } = this;
    this.worker = undefined;
    if (worker) await killHard(worker.child);
  }

  async startWorker(nodeArgs?: readonly string[]): Promise<void> {
    this.worker = await this.stack.startWorker(nodeArgs);
  }

  async killGateway(gateway: MeasuredProcess): Promise<void> {
    await killHard(gateway.child);
  }

  startGateway(nodeArgs?: readonly string[], conditions?: Conditions): Promise<MeasuredProcess> {
    this.started += 1;
    return this.stack.startGateway(`gateway-more-${String(this.started)}`, nodeArgs, conditions);
  }

  /** Calls that stand in journals now. */
  journalled(): number {
    const ids = new Set<string>();
    for (const dataFolder of [this.stack.folder, ...this.dataFolders]) {
      const folder = join(dataFolder, "journal");
      for (const name of namesIn(folder)) {
        for (const { id } of readLines(contentOf(join(folder, name))).lines) ids.add(id);
      }
    }
    return ids.size;
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** "" where it was removed meanwhile. */
function contentOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
