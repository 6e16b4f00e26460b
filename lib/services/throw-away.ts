import { chmodSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeAtEnd } from "./leash";

/** A folder for data nobody will miss, gone when this process is. */
export function throwAwayFolder(prefix: string): string {
  const folder = mkdtempSync(join(tmpdir(), `${prefix}-`));
  // Others may pass through but not look: the account that Postgres runs as has to reach its own folder inside.
  chmodSync(folder, 0o711);
  removeAtEnd(folder);
  return folder;
}
