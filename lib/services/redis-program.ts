// No npm package ships a Redis server, so this is where one is looked for, in the order that surprises people least.
import { existsSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { ServiceError } from "./service-error";
import type { Say } from "./system-packages";
import { aptInstall, aptUnpack, cacheFolder, findOnPath, isExecutable, runQuietly } from "./system-packages";

export interface RedisProgram {
  readonly command: string;
  /** Where its libraries are, if they are not those of the system. */
  readonly libraryPath?: string;
}

const names = ["redis-server", "valkey-server"];

export function findRedis(say: Say): RedisProgram {
  const present = findOnPath(names);
  if (present !== undefined) return { command: present };
  const unpacked = unpackedRedis();
  if (unpacked !== undefined) return unpacked;
  return obtainRedis(say);
}

function obtainRedis(say: Say): RedisProgram {
  if (aptInstall(["redis-server"], say)) {
    const installed = findOnPath(names);
    if (installed !== undefined) return { command: installed };
  }
  if (process.platform === "darwin" && findOnPath(["brew"]) !== undefined) {
    say("Installing redis (brew install) ...");
    runQuietly(["brew", "install", "redis"]);
    const installed = findOnPath(names);
    if (installed !== undefined) return { command: installed };
  }
  if (aptUnpack(["redis-server", "redis-tools"], cacheFolder("redis"), say)) {
    const unpacked = unpackedRedis();
    if (unpacked !== undefined) return unpacked;
  }
  throw new ServiceError(
    "No Redis was found and none could be installed: install redis-server (or valkey), or set REDIS_URL to a Redis of yours.",
  );
}

function unpackedRedis(): RedisProgram | undefined {
  const folder = cacheFolder("redis");
  const bin = join(folder, "usr", "bin");
  const server = join(bin, "redis-server");
  // Debian ships one program under several names; which package holds the file differs between releases.
  const twin = join(bin, "redis-check-rdb");
  if (!existsSync(server) && isExecutable(twin)) symlinkSync("redis-check-rdb", server);
  if (!isExecutable(server)) return undefined;
  const lib = join(folder, "usr", "lib");
  const folders = existsSync(lib) ? readdirSync(lib).map((name) => join(lib, name)) : [];
  return { command: server, libraryPath: [lib, ...folders].join(":") };
}
