// The leash: a small process that outlives its parent by a moment. The parent writes `hold <pid> <signal>`,
// `drop <pid>` and `remove <folder>` lines to it. When the parent ends for whatever reason, `kill -9` included, the
// pipe closes, and the leash ends every process group still held and removes the throw-away folders.
import { rmSync } from "node:fs";
import process from "node:process";
import { createInterface } from "node:readline";

/** @type {Map<number, string>} */
const held = new Map();
/** @type {Set<string>} */
const folders = new Set();

// Ctrl-C reaches every process of a terminal; the leash has to stay until its parent is gone.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {});

const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => {
  const [verb, first = "", ...rest] = line.split(" ");
  if (verb === "hold") held.set(Number(first), rest[0] ?? "SIGTERM");
  if (verb === "drop") held.delete(Number(first));
  if (verb === "remove") folders.add([first, ...rest].join(" "));
  if (verb === "keep") folders.delete([first, ...rest].join(" "));
});
lines.on("close", () => void end());

function signalGroup(pid, signal) {
  try {
    process.kill(-pid, signal);
    return true;
  } catch {
    return false;
  }
}

async function end() {
  for (const [pid, signal] of held) signalGroup(pid, signal);
  for (let tries = 0; tries < 50 && [...held.keys()].some((pid) => signalGroup(pid, 0)); tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  for (const pid of held.keys()) signalGroup(pid, "SIGKILL");
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  process.exit(0);
}
