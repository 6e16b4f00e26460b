/** A process under measurement: started on the leash, with its processor time and peak memory read from /proc. */
import { readFileSync } from "node:fs";
import type { Child, ChildOptions } from "@/lib/services/child";
import { lastLines, startChild } from "@/lib/services/child";
import { waitUntil } from "@/lib/services/wait";

export interface MeasuredProcess {
  readonly name: string;
  readonly pid: number;
  /** Where it listens; "" for one that is not spoken to over HTTP. */
  readonly url: string;
  readonly child: Child;
  /** Processor time of all its threads since it began, user and system, in milliseconds; to 10 ms. */
  cpuMs(): number;
  /** The most memory it ever had resident, in bytes. */
  peakBytes(): number;
}

/** Linux counts processor time in ticks of 1/100 s on every architecture Node runs on. */
const MS_PER_TICK = 10;
const START_TIMEOUT_MS = 30_000;

/** Throws where the process is gone. */
export function cpuMsOf(pid: number): number {
  const stat = readFileSync(`/proc/${String(pid)}/stat`, "utf8");
  // The command name may hold spaces and brackets: fields are counted from its last bracket. utime and stime are 14, 15.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK;
}

export function peakBytesOf(pid: number): number {
  const status = readFileSync(`/proc/${String(pid)}/status`, "utf8");
  return Number(/^VmHWM:\s+(\d+) kB$/mu.exec(status)?.[1] ?? "0") * 1024;
}

/** What it has resident now, in bytes. */
export function residentBytesOf(pid: number): number {
  const status = readFileSync(`/proc/${String(pid)}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB$/mu.exec(status)?.[1] ?? "0") * 1024;
}

export function measured(child: Child, url: string): MeasuredProcess {
  const { name, pid } = child;
  return { name, pid, url, child, cpuMs: () => cpuMsOf(pid), peakBytes: () => peakBytesOf(pid) };
}

/** Starts it and resolves once it answers HTTP at `url`, whatever it answers. Throws with its last words otherwise. */
export async function startMeasured(options: ChildOptions, url: string): Promise<MeasuredProcess> {
  const child = startChild(options);
  const answers = () =>
    fetch(url).then(
      async (response) => {
        await response.body?.cancel();
        return true;
      },
      () => false,
    );
  if (await waitUntil(answers, { timeoutMs: START_TIMEOUT_MS, everyMs: 30, giveUp: child.hasExited })) {
    return measured(child, url);
  }
  await child.stop();
  throw new Error(`${options.name} did not start: ${lastLines(child.logFile, 10).join("\n")}`);
}
