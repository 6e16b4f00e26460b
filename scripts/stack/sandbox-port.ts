// The port of the stand-in provider. Organisations have its address in their books, so it is the same at each start.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { freePort, portIsFree } from "@/lib/services/free-port";
import { writePrivateFile } from "@/lib/services/private-file";
import type { Environment } from "./processes";

export interface SandboxPort {
  readonly port: number;
  /** Another one than at the last start, or nobody knows: addresses in the books have to follow. */
  readonly isNew: boolean;
}

/** The one given, else that of the last start, else (at the first start, or where somebody else has it now) a free one. */
export async function chooseSandboxPort(dataFolder: string, environment: Environment): Promise<SandboxPort> {
  const file = join(dataFolder, "sandbox-port");
  const kept = existsSync(file) ? Number(readFileSync(file, "utf8")) : Number.NaN;
  const given = environment["SANDBOX_PORT"];
  const isKeptUsable = Number.isInteger(kept) && kept > 0 && kept < 65_536;
  const port =
    given !== undefined && given !== ""
      ? Number(given)
      : isKeptUsable && (await portIsFree(kept))
        ? kept
        : await freePort();
  if (port === kept) return { port, isNew: false };
  writePrivateFile(file, `${port}\n`);
  return { port, isNew: true };
}
