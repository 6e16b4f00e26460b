// Running one tool to its end with its output on our screen, in a group of its own that is ended with us.
import { spawn } from "node:child_process";
import { dropFromLeash, holdOnLeash } from "@/lib/services/leash";
import { signalGroup } from "@/lib/services/process-table";

export interface RunningTool {
  readonly done: Promise<boolean>;
  readonly stop: () => Promise<void>;
}

const stopTimeoutMs = 15_000;

export function runTool(root: string, args: readonly string[], env: NodeJS.ProcessEnv): RunningTool {
  const child = spawn(process.execPath, [...args], {
    cwd: root,
    env,
    stdio: ["ignore", "inherit", "inherit"],
    detached: true,
  });
  const { pid } = child;
  // The runners clean up after themselves on an interrupt: browsers, workers, temporary folders.
  if (pid !== undefined) holdOnLeash(pid, "SIGINT");
  const done = new Promise<boolean>((resolve) => {
    child.once("error", () => resolve(false));
    child.once("exit", (code) => {
      if (pid !== undefined) dropFromLeash(pid);
      resolve(code === 0);
    });
  });
  const stop = async (): Promise<void> => {
    if (pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    signalGroup(pid, "SIGINT");
    const timer = setTimeout(() => signalGroup(pid, "SIGKILL"), stopTimeoutMs);
    await done;
    clearTimeout(timer);
  };
  return { done, stop };
}
