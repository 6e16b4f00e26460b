// One run per data folder: two would start two databases on the same files.
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { writePrivateFile } from "@/lib/services/private-file";
import { commandLineOf, isAlive } from "@/lib/services/process-table";
import { ServiceError } from "@/lib/services/service-error";

/** Takes the folder, or says who has it. A file left by a run that was killed is recognised and taken over. */
export function takeRunLock(dataFolder: string, url: string): () => void {
  const file = join(dataFolder, "run.json");
  const holder = readHolder(file);
  if (holder !== undefined && holder.pid !== process.pid && isAlive(holder.pid) && isStart(holder.pid)) {
    throw new ServiceError(
      `Spillway already runs from ${dataFolder} (process ${holder.pid}, ${holder.url}): stop it first, or set SPILLWAY_DATA_DIR to another folder.`,
    );
  }
  writePrivateFile(file, `${JSON.stringify({ pid: process.pid, url })}\n`);
  return () => {
    if (readHolder(file)?.pid === process.pid) rmSync(file, { force: true });
  };
}

/** Process ids are used again: what runs under this one now may be anything. */
function isStart(pid: number): boolean {
  return commandLineOf(pid)?.includes("start.mjs") ?? false;
}

function readHolder(file: string): { pid: number; url: string } | undefined {
  if (!existsSync(file)) return undefined;
  try {
    return JSON.parse(readFileSync(file, "utf8")) as { pid: number; url: string };
  } catch {
    return undefined;
  }
}
