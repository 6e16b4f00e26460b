/**
 * Keeps the cores from halting while streams are timed, as who measures latencies does (`idle=poll` of the kernel, of which
 * this is the kind that needs no reboot): loops of the idle class of the scheduler, which give way to everything else at once.
 * To wake a halted core of a virtual machine takes 50 to 100 us, which is the hypervisor's and comes once for each process
 * on the way.
 */
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { startChild } from "@/lib/services/child";
import type { BenchSession } from "../harness/session";

/** False where the system has no such class (`chrt` of util-linux); times are larger then, of all ways. */
export function keepAwake(session: BenchSession, folder: string): boolean {
  try {
    for (let core = 0; core < availableParallelism(); core += 1) {
      const child = startChild({
        name: `awake-${String(core)}`,
        command: "chrt",
        args: ["--idle", "0", process.execPath, "-e", "for (;;);"],
        logFile: join(folder, "logs", `awake-${String(core)}.log`),
        stopSignal: "SIGKILL",
      });
      session.stops.add(child.stop);
    }
    return true;
  } catch {
    return false;
  }
}
