// Where an installation keeps everything that must survive it: databases, secrets, logs, the first sign-in.
import { accessSync, chmodSync, constants, mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { ServiceError } from "@/lib/services/service-error";

export interface DataFolder {
  readonly path: string;
  readonly logs: string;
}

export function openDataFolder(root: string, given = process.env["SPILLWAY_DATA_DIR"]): DataFolder {
  const path = given === undefined || given === "" ? join(root, ".spillway") : resolve(root, given);
  const logs = join(path, "logs");
  try {
    mkdirSync(logs, { recursive: true });
    accessSync(path, constants.W_OK | constants.X_OK);
    // Others may pass through (Postgres runs as another user when we are root) but see nothing.
    chmodSync(path, process.getuid?.() === 0 ? 0o711 : 0o700);
    chmodSync(logs, 0o700);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new ServiceError(
      `The data folder ${path} cannot be written to (${code ?? "unknown reason"}): give this user the right to, or set SPILLWAY_DATA_DIR to another folder.`,
      { cause: error },
    );
  }
  return { path, logs };
}
