// Ties the processes we start to our own life, so that not even `kill -9` leaves a database running. See leash-process.mjs.
import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { Socket } from "node:net";
import { fileURLToPath } from "node:url";

let leash: ChildProcess | undefined;

function leashInput(): NodeJS.WritableStream | undefined {
  if (leash === undefined) {
    const script = fileURLToPath(new URL("./leash-process.mjs", import.meta.url));
    leash = spawn(process.execPath, [script], { detached: true, stdio: ["pipe", "ignore", "ignore"] });
    // The leash must never be what keeps us alive.
    leash.unref();
    if (leash.stdin instanceof Socket) leash.stdin.unref();
    leash.stdin?.on("error", () => undefined);
    leash.on("error", () => undefined);
  }
  return leash.stdin ?? undefined;
}

export function holdOnLeash(pid: number, stopSignal: NodeJS.Signals): void {
  leashInput()?.write(`hold ${pid} ${stopSignal}\n`);
}

export function dropFromLeash(pid: number): void {
  leashInput()?.write(`drop ${pid}\n`);
}

/** The folder is removed when this process is gone, however it goes. */
export function removeAtEnd(folder: string): void {
  leashInput()?.write(`remove ${folder}\n`);
}
