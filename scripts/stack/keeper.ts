// Keeps the processes of the product running: starts them, brings one back that dies, gives up when one keeps dying, and
// stops them in reverse order.
import { setTimeout as delay } from "node:timers/promises";
import type { Child, ChildOptions } from "@/lib/services/child";
import { lastLines, startChild } from "@/lib/services/child";
import { ServiceError } from "@/lib/services/service-error";
import type { Say } from "./steps";

export interface KeptProcess extends ChildOptions {
  /** Whether it is up; asked until it is. */
  readonly ready: () => Promise<boolean>;
}

const restarts = { limit: 3, withinMs: 60_000, pauseMs: 1_000 };

export class Keeper {
  readonly #running = new Map<string, Child>();
  readonly #deaths = new Map<string, number[]>();
  readonly #say: Say;
  readonly #lost: (error: ServiceError) => void;
  #stopping = false;
  /** Rejects when a process cannot be kept running. */
  readonly lost: Promise<never>;

  constructor(say: Say) {
    this.#say = say;
    let reject: (error: ServiceError) => void = () => undefined;
    this.lost = new Promise<never>((_resolve, fail) => (reject = fail));
    this.lost.catch(() => undefined);
    this.#lost = reject;
  }

  async start(options: KeptProcess, timeoutMs = 60_000): Promise<void> {
    const child = startChild(options);
    this.#running.set(options.name, child);
    const deadline = performance.now() + timeoutMs;
    while (!(await options.ready())) {
      if (child.hasExited()) throw new ServiceError(`${options.name} did not start: ${lastWords(child)}`);
      if (performance.now() > deadline) {
        throw new ServiceError(`${options.name} was not ready after ${timeoutMs / 1000} s: ${lastWords(child)}`);
      }
      await delay(100);
    }
    this.#watch(options, child);
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    for (const child of [...this.#running.values()].reverse()) await child.stop();
  }

  #watch(options: KeptProcess, child: Child): void {
    void child.exited.then(async (how) => {
      if (this.#stopping) return;
      const now = performance.now();
      const deaths = [...(this.#deaths.get(options.name) ?? []), now].filter((at) => now - at < restarts.withinMs);
      this.#deaths.set(options.name, deaths);
      if (deaths.length > restarts.limit) {
        this.#lost(new ServiceError(`${options.name} keeps dying: ${lastWords(child)}`));
        return;
      }
      this.#say(`${options.name} ended (${how}); starting it again. Its log: ${child.logFile}`);
      await delay(restarts.pauseMs);
      // Stopped while pausing: nothing may start any more.
      if (this.#isStopping()) return;
      await this.start(options).catch((error: unknown) => this.#lost(error as ServiceError));
    });
  }

  #isStopping(): boolean {
    return this.#stopping;
  }
}

function lastWords(child: Child): string {
  const lines = lastLines(child.logFile, 40).filter((line) => line.trim() !== "");
  const telling = lines.findLast((line) => /error|EADDRINUSE|not usable|cannot/i.test(line) && !/^\s+at /.test(line));
  return `${(telling ?? lines.at(-1) ?? "it wrote nothing").trim()} (log: ${child.logFile}).`;
}
