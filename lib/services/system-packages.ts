// Programs that npm does not ship, had from the system. Every step is said before it is taken.
import { spawnSync } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";

export type Say = (line: string) => void;

export function findOnPath(names: readonly string[], path = process.env["PATH"] ?? ""): string | undefined {
  for (const name of names) {
    for (const folder of [...path.split(delimiter), "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"]) {
      const file = join(folder, name);
      if (folder !== "" && isExecutable(file)) return file;
    }
  }
  return undefined;
}

export function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/** Where unpacked programs are kept between runs and projects. */
export function cacheFolder(name: string): string {
  return join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "spillway", name);
}

/** How to become root here without being asked for a password: `[]` if we are, undefined if we cannot. */
export function rootPrefix(): string[] | undefined {
  if (process.getuid?.() === 0) return [];
  const sudo = spawnSync("sudo", ["-n", "true"], { stdio: "ignore" });
  return sudo.status === 0 ? ["sudo", "-n"] : undefined;
}

export interface Ran {
  readonly ok: boolean;
  readonly output: string;
}

export function runQuietly(command: readonly string[], cwd?: string): Ran {
  const [program = "", ...args] = command;
  const result = spawnSync(program, args, {
    cwd,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
    // RUNLEVEL=1 keeps Debian from starting a service that it installs.
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive", RUNLEVEL: "1", LC_ALL: "C" },
  });
  return { ok: result.status === 0, output: `${result.stdout ?? ""}${result.stderr ?? ""}` };
}

/** Installs Debian packages as root. False where that is not possible. */
export function aptInstall(packages: readonly string[], say: Say): boolean {
  const prefix = rootPrefix();
  if (prefix === undefined || findOnPath(["apt-get"]) === undefined) return false;
  say(`Installing ${packages.join(" and ")} (apt-get install) ...`);
  const env = ["env", "DEBIAN_FRONTEND=noninteractive", "RUNLEVEL=1"];
  const wait = ["-o", "DPkg::Lock::Timeout=300"];
  const install = [...prefix, ...env, "apt-get", ...wait, "install", "-y", "--no-install-recommends", ...packages];
  if (runQuietly(install).ok) return true;
  // A fresh machine or container has no package lists yet.
  runQuietly([...prefix, ...env, "apt-get", ...wait, "update"]);
  return runQuietly(install).ok;
}

/** Unpacks Debian packages, and what they need and the system lacks, into a folder of ours: no root needed. */
export function aptUnpack(packages: readonly string[], folder: string, say: Say): boolean {
  if (findOnPath(["apt-get"]) === undefined || findOnPath(["dpkg"]) === undefined) return false;
  say(`Unpacking ${packages.join(" and ")} into ${folder} (apt-get download) ...`);
  // Lists of our own, because those of the system may be absent and only root may fetch them.
  const own = ["-o", `Dir::State::Lists=${folder}/lists`, "-o", `Dir::Cache=${folder}/apt`];
  if (!runQuietly(["mkdir", "-p", `${folder}/lists/partial`, `${folder}/apt/archives/partial`]).ok) return false;
  for (const options of [[], own]) {
    if (options.length > 0) runQuietly(["apt-get", ...options, "update"], folder);
    const plan = runQuietly(["apt-get", ...options, "-s", "--no-install-recommends", "install", ...packages], folder);
    if (!plan.ok) continue;
    const needed = [...plan.output.matchAll(/^Inst (\S+)/gm)].map((match) => match[1] ?? "");
    const wanted = new Set([...packages, ...needed]);
    if (!runQuietly(["apt-get", ...options, "download", ...wanted], folder).ok) continue;
    return runQuietly(["sh", "-c", 'for deb in *.deb; do dpkg -x "$deb" . || exit 1; done; rm -f *.deb'], folder).ok;
  }
  return false;
}
