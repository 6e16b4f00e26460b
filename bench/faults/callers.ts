/** Callers that go on whatever happens, and what each of them heard when. */
import { setTimeout as pause } from "node:timers/promises";
import type { Answer, LoadClient } from "../harness/load";
import { percentile } from "../harness/table";

/** `hard`: an enforced budget with room; `tight`: one that runs out; `soft`: budgets that only count. */
export type Side = "hard" | "tight" | "soft";

export interface Lane {
  readonly side: Side;
  readonly key: string;
  readonly body: string;
  readonly isStream: boolean;
  /** Between an answer and the next call. */
  readonly pauseMs: number;
}

/** One answer, with when its call began and ended (ms of performance.now). */
export interface Heard {
  readonly side: Side;
  readonly isStream: boolean;
  readonly process: number;
  readonly beganMs: number;
  readonly endedMs: number;
  readonly answer: Answer;
}

/** After a refusal: as long as a polite client's first wait here. */
const REFUSED_PAUSE_MS = 20;

export class Callers {
  readonly heard: Heard[] = [];
  private isStopping = false;
  private readonly lanes: readonly Promise<void>[];

  constructor(
    private readonly client: LoadClient,
    processes: number,
    lanes: readonly Lane[],
  ) {
    this.lanes = lanes.map((lane, index) => this.run(lane, index % processes));
  }

  async stop(): Promise<void> {
    this.isStopping = true;
    await Promise.all(this.lanes);
  }

  /** Answers to whole calls of a side that began and ended within a span. */
  within(side: Side, fromMs: number, toMs: number): Heard[] {
    return this.heard.filter(
      (one) => one.side === side && !one.isStream && one.beganMs >= fromMs && one.endedMs <= toMs,
    );
  }

  private async run(lane: Lane, process: number): Promise<void> {
    while (!this.isStopping) {
      const beganMs = performance.now();
      const answer = await this.client.chat({ key: lane.key, body: lane.body }, process);
      const { side, isStream } = lane;
      this.heard.push({ side, isStream, process, beganMs, endedMs: performance.now(), answer });
      await pause(answer.status === 200 ? lane.pauseMs : REFUSED_PAUSE_MS);
    }
  }
}

export function isServed({ answer }: Heard): boolean {
  return answer.status === 200;
}

export function isUnavailable({ answer }: Heard): boolean {
  return answer.status === 503 && answer.code === "quota_store_unavailable";
}

/** "200" or "503 quota_store_unavailable". */
export function wordOf({ answer }: Heard): string {
  return `${String(answer.status)} ${answer.code}`.trim();
}

/** The time below which 99 of 100 of these took, in ms. */
export function p99(heard: readonly Heard[]): number {
  return percentile(
    heard.map((one) => one.endedMs - one.beganMs),
    0.99,
  );
}

/** What is wrong where every one of these should be `expected`; how many were otherwise, and how. */
export function strangers(what: string, heard: readonly Heard[], isExpected: (one: Heard) => boolean): string[] {
  if (heard.length === 0) return [`${what}: nobody called`];
  const others = heard.filter((one) => !isExpected(one));
  const words = [...new Set(others.map(wordOf))].join(", ");
  return others.length === 0 ? [] : [`${what}: ${String(others.length)} of ${String(heard.length)} were ${words}`];
}
