/**
 * One thread that counts texts, with a bounded queue. Whatever goes wrong (too much waiting, a slow or broken thread) is an
 * answer without a count, never an error: the caller takes the bound. The thread starts with the first job and ends after
 * some idle time, so that the large vocabularies are held only while they are used.
 */
import { Worker } from "node:worker_threads";
import type { Encoding } from "./families";
import type { TextCount } from "./tokenizers";
import type { WorkerAnswer, WorkerData, WorkerJob } from "./worker/protocol";
import { workerSource } from "./worker/source.generated";

/** Why there is no count. */
export type Uncounted = "queue_full" | "too_large" | "slow" | "broken" | "closed";

export interface PoolOptions {
  /** From asking to answer, waiting included. */
  readonly timeoutMs: number;
  readonly maxWaitingJobs: number;
  /** UTF-16 units times two of all waiting texts. */
  readonly maxWaitingBytes: number;
  readonly maxJobBytes: number;
  /** A job that runs for longer is taken for a hanging thread, which is ended. */
  readonly hangMs: number;
  /** Pause after a thread has died, doubled with each death in a row, up to a minute. */
  readonly restartPauseMs: number;
  readonly idleMs: number;
  readonly maxHeapMb: number;
  /** Folders from which the tokenizer packages are looked for. */
  readonly packageRoots: readonly string[];
}

const here = (import.meta as { readonly dirname?: string }).dirname;

export const POOL_DEFAULTS: PoolOptions = {
  timeoutMs: 250,
  maxWaitingJobs: 64,
  maxWaitingBytes: 16 * 1024 * 1024,
  maxJobBytes: 4 * 1024 * 1024,
  hangMs: 10_000,
  restartPauseMs: 1000,
  idleMs: 10 * 60_000,
  maxHeapMb: 256,
  packageRoots: here === undefined ? [process.cwd()] : [process.cwd(), here],
};

const LONGEST_PAUSE_MS = 60_000;

interface Job extends WorkerJob {
  readonly bytes: number;
  readonly resolve: (outcome: TextCount | Uncounted) => void;
  readonly timer: NodeJS.Timeout;
}

export class TokenizerPool {
  private readonly options: PoolOptions;
  private worker: Worker | undefined;
  private readonly waiting: Job[] = [];
  private waitingBytes = 0;
  private running: Job | undefined;
  private hangTimer: NodeJS.Timeout | undefined;
  private idleTimer: NodeJS.Timeout | undefined;
  private deaths = 0;
  private pausedUntilMs = 0;
  private lastId = 0;
  private isClosed = false;

  constructor(options: Partial<PoolOptions> = {}) {
    this.options = { ...POOL_DEFAULTS, ...options };
  }

  /** Tokens of the texts together, or why there are none. Never rejects; resolves within `timeoutMs`. */
  count(encoding: Encoding, texts: readonly string[]): Promise<TextCount | Uncounted> {
    const bytes = texts.reduce((sum, text) => sum + text.length * 2, 0);
    if (this.isClosed) return Promise.resolve("closed");
    if (bytes > this.options.maxJobBytes) return Promise.resolve("too_large");
    const { maxWaitingJobs, maxWaitingBytes, timeoutMs } = this.options;
    if (this.waiting.length >= maxWaitingJobs || this.waitingBytes + bytes > maxWaitingBytes) {
      return Promise.resolve("queue_full");
    }
    return this.enqueue(encoding, texts, bytes, timeoutMs);
  }

  /** Loads a tokenizer ahead of the first text. Resolves when it is loaded or cannot be. */
  async warm(encoding: Encoding): Promise<void> {
    if (!this.isClosed) await this.enqueue(encoding, [], 0, this.options.hangMs);
  }

  /** Ends the thread. What was waiting is answered without a count. */
  async close(): Promise<void> {
    this.isClosed = true;
    await this.endWorker("closed");
    this.answerWaiting("closed");
  }

  private enqueue(
    encoding: Encoding,
    texts: readonly string[],
    bytes: number,
    timeoutMs: number,
  ): Promise<TextCount | Uncounted> {
    return new Promise((resolve) => {
      this.lastId += 1;
      const id = this.lastId;
      // Also what keeps a process alive that has nothing else to wait for.
      const timer = setTimeout(() => this.late(id, resolve), timeoutMs);
      this.waiting.push({ id, encoding, texts, bytes, resolve, timer });
      this.waitingBytes += bytes;
      this.pump();
    });
  }

  /** A running job goes on: nothing can stop a thread in the middle of a text but its end. */
  private late(id: number, resolve: Job["resolve"]): void {
    const at = this.waiting.findIndex((job) => job.id === id);
    if (at >= 0) this.waitingBytes -= this.waiting.splice(at, 1)[0]?.bytes ?? 0;
    resolve("slow");
  }

  private pump(): void {
    if (this.running || this.waiting.length === 0) return;
    const worker = this.worker ?? this.startWorker();
    const job = worker && this.waiting.shift();
    if (!worker || !job) {
      this.answerWaiting("broken");
      return;
    }
    clearTimeout(this.idleTimer);
    this.waitingBytes -= job.bytes;
    this.running = job;
    this.hangTimer = setTimeout(() => void this.endWorker("broken"), this.options.hangMs).unref();
    const { id, encoding, texts } = job;
    worker.postMessage({ id, encoding, texts } satisfies WorkerJob);
  }

  /** Undefined while a dead thread's pause lasts. */
  private startWorker(): Worker | undefined {
    if (performance.now() < this.pausedUntilMs) return undefined;
    const { maxHeapMb, packageRoots } = this.options;
    const worker = new Worker(workerSource, {
      eval: true,
      name: "tokenizer",
      workerData: { packageRoots } satisfies WorkerData,
      // Loaders of this process are not needed there, and its secrets neither.
      execArgv: [],
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMb, maxYoungGenerationSizeMb: 16 },
    });
    worker.on("message", (answer: WorkerAnswer) => {
      this.answered(worker, answer);
    });
    // "exit" follows every "error".
    worker.on("error", () => undefined);
    worker.on("exit", () => {
      if (this.worker === worker) this.died();
    });
    worker.unref();
    this.worker = worker;
    return worker;
  }

  private answered(worker: Worker, { id, count }: WorkerAnswer): void {
    if (this.worker !== worker || this.running?.id !== id) return;
    this.deaths = 0;
    this.finish(count ?? "broken");
    if (this.waiting.length === 0) {
      this.idleTimer = setTimeout(() => void this.endWorker("closed"), this.options.idleMs).unref();
    }
    this.pump();
  }

  private finish(outcome: TextCount | Uncounted): void {
    const job = this.running;
    this.running = undefined;
    clearTimeout(this.hangTimer);
    clearTimeout(job?.timer);
    job?.resolve(outcome);
  }

  private died(): void {
    this.worker = undefined;
    this.pausedUntilMs =
      performance.now() + Math.min(LONGEST_PAUSE_MS, this.options.restartPauseMs * 2 ** Math.min(this.deaths, 16));
    this.deaths += 1;
    this.finish("broken");
    this.pump();
  }

  /** Ends the thread from our side. Jobs that came meanwhile start another one. */
  private async endWorker(outcome: Uncounted): Promise<void> {
    const { worker } = this;
    clearTimeout(this.idleTimer);
    this.worker = undefined;
    this.finish(outcome);
    await worker?.terminate();
    if (!this.isClosed) this.pump();
  }

  private answerWaiting(outcome: Uncounted): void {
    for (const job of this.waiting.splice(0)) {
      clearTimeout(job.timer);
      job.resolve(outcome);
    }
    this.waitingBytes = 0;
  }
}
