// Makes sure node_modules matches the lock file. Plain Node without dependencies, because it runs before there are any.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

export const projectRoot = dirname(dirname(fileURLToPath(import.meta.url)));

const oldestNode = [20, 19];

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

export function ensureInstalled() {
  requireNode();
  if (installIsCurrent()) return false;
  console.log("Installing packages (npm ci) ...");
  // npm's own way to be called again; on Windows and in odd shells `npm` alone is not an executable.
  const viaNpm = process.env.npm_execpath?.endsWith(".js");
  const [command, args] = viaNpm ? [process.execPath, [process.env.npm_execpath, "ci"]] : ["npm", ["ci"]];
  const result = spawnSync(command, args, { cwd: projectRoot, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  if (result.status !== 0) {
    const words = (result.stderr || result.error?.message || "").trim().split("\n");
    fail(`npm ci failed: ${words.find((line) => line.includes("npm error")) ?? words.at(-1) ?? "no output"}`);
  }
  return true;
}

export function fail(sentence) {
  console.error(sentence);
  process.exit(1);
}
