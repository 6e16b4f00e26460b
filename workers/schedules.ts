/**
 * What runs when. Two kinds, for a reason:
 *
 * - Jobs of BullMQ: coarse work that should run once in the whole installation, be seen when it fails, and be tried again.
 * - Ticks: plain timers in every worker process for what must happen within a second (law 5 and the lease of a dead call).
 *   As jobs they would write 86,400 rows of history a day and cost a dozen Redis commands each time, and would stand
 *   still whenever the queue's Redis does. All of them are idempotent and cheap where there is nothing to do, so several
 *   workers may tick at once.
 */
import type { Schedule } from "@/lib/queues/producer";
import type { WorkerContext } from "./context";
import { counterCorrections } from "./processors/counter-corrections";
import { counterRecovery } from "./processors/counter-recovery";
import { deferredCalls } from "./processors/deferred-calls";
import { providerJobs, storedObjects } from "./processors/provider-jobs";
import { refusalDrain } from "./processors/refusal-drain";
import { reservationSweep } from "./processors/reservation-sweep";
import { snapshotCompile } from "./processors/snapshot-compile";
import { thresholdAlerts } from "./processors/threshold-alerts";
import { webhookDispatch } from "./processors/webhooks";
import { pause } from "./settlement/pause";

export const SCHEDULES: readonly Schedule[] = [
  { job: "ledger-partitions", pattern: "0 20 3 * * *" },
  { job: "record-prune", pattern: "0 40 3 * * *" },
  { job: "period-roll", pattern: "5 0 * * * *" },
  { job: "reconcile", everyMs: 600_000 },
];

interface Tick {
  readonly name: string;
  readonly everyMs: number;
  /** Between two runs where the last one counted something of this name that people wait for. */
  readonly hurry?: { readonly count: string; readonly everyMs: number };
  readonly run: (context: WorkerContext) => Promise<Record<string, number>>;
}

const TICKS: readonly Tick[] = [
  { name: "counter-recovery", everyMs: 1_000, hurry: { count: "fenced", everyMs: 200 }, run: counterRecovery },
  { name: "reservation-sweep", everyMs: 1_000, run: reservationSweep },
  { name: "snapshot-compile", everyMs: 1_000, run: snapshotCompile },
  { name: "threshold-alerts", everyMs: 1_000, run: thresholdAlerts },
  { name: "refusal-drain", everyMs: 1_000, run: refusalDrain },
  { name: "deferred-calls", everyMs: 1_000, run: deferredCalls },
  { name: "webhook-dispatch", everyMs: 1_000, run: webhookDispatch },
  { name: "stored-objects", everyMs: 1_000, run: storedObjects },
  { name: "provider-jobs", everyMs: 1_000, run: providerJobs },
  { name: "counter-corrections", everyMs: 5_000, run: counterCorrections },
];

/** Starts every tick; a tick never overlaps itself. `stop` waits for those in hand. */
export function startTicks(context: WorkerContext): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const { log } = context.services.deps;
  const running = TICKS.map(async (tick) => {
    while (!stopping.signal.aborted) {
      const counts = await tick.run(context).catch((error: unknown) => {
        log.warn({ err: error, tick: tick.name }, "a tick failed");
        return undefined;
      });
      const isHurried = tick.hurry !== undefined && (counts?.[tick.hurry.count] ?? 0) > 0;
      await pause(isHurried ? tick.hurry.everyMs : tick.everyMs, stopping.signal);
    }
  });
  return {
    stop: async () => {
      stopping.abort();
      await Promise.all(running);
    },
  };
}
