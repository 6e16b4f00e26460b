// Looking at processes that some earlier run of ours may have left behind.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { waitUntil } from "./wait";

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !isZombie(pid);
  } catch (error) {
    // Not ours to signal, but there.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** A zombie answers signals but does nothing any more; in a container without an init it can stay for ever. */
function isZombie(pid: number): boolean {
  try {
    return /\)\s+Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

/** The command line of a process, or undefined if it is gone. Process ids are reused, so never signal one unseen. */
export function commandLineOf(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim();
  } catch {
    const ps = spawnSync("ps", ["-ww", "-o", "command=", "-p", String(pid)], { encoding: "utf8" });
    const line = ps.status === 0 ? ps.stdout.trim() : "";
    return line === "" ? undefined : line;
  }
}

/** Stops a process left over from an earlier run, provided that it still is what we take it for. */
export async function stopLeftover(pid: number, mustMention: string, signal: NodeJS.Signals): Promise<boolean> {
  if (!isAlive(pid) || commandLineOf(pid)?.includes(mustMention) !== true) return false;
  signalProcess(pid, signal);
  if (!(await waitUntil(() => !isAlive(pid), { timeoutMs: 10_000 }))) {
    signalProcess(pid, "SIGKILL");
    await waitUntil(() => !isAlive(pid), { timeoutMs: 5_000 });
  }
  return true;
}

/** Signals one process; that it is gone already is no error. */
export function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Signals a process and everything it started, if it leads a group. */
export function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    signalProcess(pid, signal);
  }
}
