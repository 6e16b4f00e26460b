// The secrets of an installation: made once at random, kept readable for their owner alone. There are no defaults, so no two
// installations share one and none can be looked up in this repository.
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { writePrivateFile } from "@/lib/services/private-file";
import { ServiceError } from "@/lib/services/service-error";
import type { Environment } from "./processes";

const names = ["SPILLWAY_MASTER_KEY", "SPILLWAY_KEY_PEPPER", "NEXTAUTH_SECRET"] as const;

export type Secrets = Record<(typeof names)[number], string>;

/** A secret in the environment wins over the kept one, as everywhere. */
export function loadSecrets(dataFolder: string, environment: Environment = process.env): Secrets {
  const file = join(dataFolder, "secrets.json");
  const kept = readKept(file);
  let isNew = false;
  const secretOf = (name: (typeof names)[number]): string => {
    const given = environment[name];
    if (given !== undefined && given !== "") return given;
    const secret = kept[name];
    if (secret !== undefined) return secret;
    isNew = true;
    return (kept[name] = randomBytes(32).toString("base64"));
  };
  const secrets = Object.fromEntries(names.map((name) => [name, secretOf(name)])) as Secrets;
  if (isNew) writePrivateFile(file, `${JSON.stringify(kept, null, 2)}\n`);
  return secrets;
}

function readKept(file: string): Partial<Secrets> {
  if (!existsSync(file)) return {};
  try {
    return JSON.parse(readFileSync(file, "utf8")) as Partial<Secrets>;
  } catch {
    // Making new ones would silently lock every stored provider secret and API key away for good.
    throw new ServiceError(`${file} is damaged: restore it from a backup, or remove the data folder to start anew.`);
  }
}
