/** Input from outside into typed values; every refusal is `invalid_request` with a message for each field at fault. */
import type { z } from "zod";
import { AppError } from "@/lib/domain/fault";

/** Parses with the contract's schema. Throws `invalid_request` naming every field at fault ("lines.0.amount"). */
export function parseInput<Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  const fields: Record<string, string> = {};
  for (const issue of result.error.issues) {
    const path = issue.path.map(String).join(".") || "body";
    fields[path] ??= issue.message;
  }
  throw invalidFields(fields);
}

export function invalidFields(fields: Readonly<Record<string, string>>): AppError {
  const names = Object.keys(fields).join(", ");
  return new AppError("invalid_request", `The request is not valid: ${names}`, { fields });
}

/** The object without the keys whose value is undefined: "absent" and "set to nothing" must not be confused. */
export function definedOnly<T extends object>(value: T): { [Key in keyof T]?: Exclude<T[Key], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, part]) => part !== undefined)) as {
    [Key in keyof T]?: Exclude<T[Key], undefined>;
  };
}
