/** What imports of prices and of exchange rates share: their fingerprints and how a broken file is told. */
import { createHash } from "node:crypto";
import type { AppError } from "@/lib/domain/fault";
import type { PriceBookProblem } from "@/lib/pricing/price-book";
import { invalidFields } from "./validate";

/** As many mistakes as a person mends in one sitting. */
const MAX_PROBLEMS = 50;

export function sha256(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return createHash("sha256").update(text).digest("hex");
}

/** `invalid_request` with a field for each mistake: "text:12:rates.inputPerToken". */
export function brokenFile(problems: readonly PriceBookProblem[]): AppError {
  const fields: Record<string, string> = {};
  for (const { line, path, message } of problems.slice(0, MAX_PROBLEMS)) {
    fields[["text", ...(line > 0 ? [String(line)] : []), ...(path === "" ? [] : [path])].join(":")] ??= message;
  }
  return invalidFields(fields);
}

/** `invalid_request` naming every entry that asks for confirmation and has none. */
export function requireConfirmed(names: readonly string[], confirmed: readonly string[]): void {
  const missing = names.filter((name) => !confirmed.includes(name));
  if (missing.length === 0) return;
  throw invalidFields(
    Object.fromEntries(missing.slice(0, MAX_PROBLEMS).map((name) => [`confirmed:${name}`, "suspicious"])),
  );
}
