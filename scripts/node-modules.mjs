// Makes sure node_modules matches the lock file. Plain Node without dependencies, because it runs before there are any.
import { spawn } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

export const projectRoot = dirname(dirname(fileURLToPath(import.meta.url)));

const oldestNode = [20, 19];
const stopSignals = ["SIGINT", "SIGTERM", "SIGHUP"];

/** One clear sentence instead of a syntax error from somewhere inside a dependency. */
export function requireNode() {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (major < oldestNode[0] || (major === oldestNode[0] && minor < oldestNode[1])) {
    fail(`Spillway needs Node ${oldestNode.join(".")} or newer; this is ${process.versions.node}.`);
  }
}

/** npm writes node_modules/.package-lock.json last, so its age is the age of the whole installation. */
export function installIsCurrent(root = projectRoot) {
  const installed = join(root, "node_modules", ".package-lock.json");
  if (!existsSync(installed)) return false;
  if (statSync(installed).mtimeMs >= statSync(join(root, "package-lock.json")).mtimeMs) return true;
  // A fresh checkout gives the lock file a new date but not a new content.
  return sameVersions(join(root, "package-lock.json"), installed);
}

function sameVersions(lockFile, installedFile) {
  const wanted = JSON.parse(readFileSync(lockFile, "utf8")).packages;
  const present = JSON.parse(readFileSync(installedFile, "utf8")).packages;
  return Object.entries(wanted).every(([path, entry]) => {
    if (path === "" || entry.optional || entry.devOptional) return true;
    return present[path]?.version === entry.version;
  });
}

/** Installs what is missing. Resolves to whether anything was; Ctrl-C or a kill leaves no npm behind that the next start would meet. */
export async function ensureInstalled() {
  requireNode();
  if (installIsCurrent()) return false;
  console.log("Installing packages (npm ci) ...");
  const { status, stderr, error } = await npmCi();
  if (status !== 0) {
    fail(`The packages could not be installed: ${npmReason(stderr || error?.message || "")}`);
  }
  return true;
}

/** What of npm's words says why; its first lines are codes. */
export function npmReason(output) {
  const lines = output.split("\n").map((line) => line.replace(/^npm (error|ERR!) ?/, "").trim());
  const telling = lines.find((line) => line !== "" && !/^(npm warn|code|syscall|path|dest|errno) /.test(line));
  return telling ?? lines.find((line) => line !== "") ?? "npm said nothing";
}

/** Half an installation is removed by the next `npm ci`, so it may be ended at any moment. */
function npmCi() {
  // npm's own way to be called again; on Windows and in odd shells `npm` alone is not an executable.
  const viaNpm = process.env.npm_execpath?.endsWith(".js");
  const [command, args] = viaNpm ? [process.execPath, [process.env.npm_execpath, "ci"]] : ["npm", ["ci"]];
  // A group of its own: npm answers Ctrl-C by cleaning up for a while, and the next start must not meet it.
  const child = spawn(command, args, { cwd: projectRoot, stdio: ["ignore", "ignore", "pipe"], detached: true });
  const leash = leashOn(child.pid);
  const stop = () => {
    endGroup(child.pid);
    console.log("\nStopped. The next start installs the packages anew.");
    process.exit(130);
  };
  for (const signal of stopSignals) process.once(signal, stop);
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text) => (stderr += text));
  return new Promise((resolve) => {
    const over = (status, error) => {
      for (const signal of stopSignals) process.off(signal, stop);
      leash.stdin.end(`drop ${child.pid}\n`);
      resolve({ status, stderr, error });
    };
    child.once("error", (error) => over(null, error));
    child.once("close", (status) => over(status, undefined));
  });
}

/** Ends npm where we are killed ourselves. */
function leashOn(pid) {
  const script = join(projectRoot, "lib", "services", "leash-process.mjs");
  const leash = spawn(process.execPath, [script], { detached: true, stdio: ["pipe", "ignore", "ignore"] });
  leash.on("error", () => {});
  leash.stdin.on("error", () => {});
  if (pid !== undefined) leash.stdin.write(`hold ${pid} SIGKILL\n`);
  return leash;
}

function endGroup(pid) {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
}

export function fail(sentence) {
  console.error(sentence);
  process.exit(1);
}
