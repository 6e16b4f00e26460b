/**
 * The processors while streams are timed, as who measures latencies sets them up: none halts (to wake one of a virtual
 * machine takes 50 to 100 us, which is the hypervisor's and comes once for each process on the way), and the event loop of
 * what stands between provider and client has one of its own, as it has where provider, client and stores are other machines.
 */
import { execFileSync } from "node:child_process";
import { closeSync, openSync, writeSync } from "node:fs";
import { availableParallelism } from "node:os";
import type { BenchSession } from "../harness/session";

/** Microseconds of latency allowed, while the file is open (Linux, `Documentation/power/pm_qos_interface.rst`). */
const LATENCY_FILE = "/dev/cpu_dma_latency";

/** False where this user or system cannot: times are larger then, of all ways. */
export function keepAwake(session: BenchSession): boolean {
  try {
    const file = openSync(LATENCY_FILE, "w");
    session.stops.add(async () => closeSync(file));
    writeSync(file, Buffer.alloc(4));
    return true;
  } catch {
    return false;
  }
}

export const CORES = availableParallelism();
const LAST_CORE = CORES - 1;

/** Binds a process, or its main thread alone; false where there is no `taskset` (util-linux) or no second core. */
function bind(pid: number, cores: string, flags: readonly string[]): boolean {
  if (LAST_CORE < 1) return false;
  try {
    execFileSync("taskset", [...flags, "-cp", cores, String(pid)], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** This process, and with it all that it starts from now on, leaves the last core alone. */
export function leaveLastCore(): boolean {
  return bind(process.pid, `0-${String(LAST_CORE - 1)}`, ["-a"]);
}

/** The event loop of the process goes to the last core; its helper threads stay with everybody else. */
export function giveLastCore(pid: number): boolean {
  return bind(pid, String(LAST_CORE), []);
}
