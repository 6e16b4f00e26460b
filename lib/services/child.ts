// Starting a long-running process: its own group, its output in a file, and no way for it to outlive us.
import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, renameSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { dropFromLeash, holdOnLeash } from "./leash";
import { reasonOf, ServiceError } from "./service-error";
import { signalGroup } from "./process-table";

export interface ChildOptions {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly logFile: string;
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** How this program likes to be asked to stop. */
  readonly stopSignal?: NodeJS.Signals;
  readonly stopTimeoutMs?: number;
  /** The account to run as; only root can change it. */
  readonly account?: { readonly uid: number; readonly gid: number } | undefined;
}

export interface Child {
  readonly name: string;
  readonly pid: number;
  readonly logFile: string;
  /** What ended it, once it has ended. */
  readonly exited: Promise<string>;
  readonly hasExited: () => boolean;
  readonly stop: () => Promise<void>;
}

const maxLogBytes = 10 * 1024 * 1024;

export function startChild(options: ChildOptions): Child {
  const { name, logFile, stopSignal = "SIGTERM", stopTimeoutMs = 20_000 } = options;
  const log = openLog(logFile);
  const child = spawn(options.command, [...options.args], {
    cwd: options.cwd,
    env: options.env ?? process.env,
    stdio: ["ignore", log, log],
    // Its own group: Ctrl-C in the terminal reaches us alone, and we stop things in the right order.
    detached: true,
    ...options.account,
  });
  closeSync(log);
  const pid = child.pid;
  let ended = false;
  const exited = endOf(child).then((how) => {
    ended = true;
    if (pid !== undefined) dropFromLeash(pid);
    return how;
  });
  if (pid === undefined) throw new ServiceError(`${name} could not be started: ${options.command} is not executable.`);
  holdOnLeash(pid, stopSignal);

  const stop = async (): Promise<void> => {
    if (ended) return;
    signalGroup(pid, stopSignal);
    const timer = setTimeout(() => signalGroup(pid, "SIGKILL"), stopTimeoutMs);
    await exited;
    clearTimeout(timer);
  };
  return { name, pid, logFile, exited, hasExited: () => ended, stop };
}

function endOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once("error", (error) => resolve(reasonOf(error)));
    child.once("exit", (code, signal) =>
      resolve(signal === null ? `exit code ${code ?? "unknown"}` : `signal ${signal}`),
    );
  });
}

function openLog(file: string): number {
  mkdirSync(dirname(file), { recursive: true });
  if (existsSync(file) && statSync(file).size > maxLogBytes) renameSync(file, `${file}.1`);
  return openSync(file, "a", 0o600);
}

/** The last lines a process wrote, for the one sentence that says why it died. */
export function lastLines(logFile: string, count: number): string[] {
  if (!existsSync(logFile)) return [];
  return readFileSync(logFile, "utf8").trimEnd().split("\n").slice(-count);
}
