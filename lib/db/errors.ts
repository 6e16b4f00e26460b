/** Names for what the database refuses, so that no caller reads Prisma's or Postgres' codes. */
import { AppError } from "@/lib/domain/fault";
import { Prisma } from "./generated/client";

/** Whether the error is a second row where only one may be. */
export function isUniqueViolation(error: unknown): boolean {
  return error instanceof Prisma.PrismaClientKnownRequestError && error.code === "P2002";
}

/** Runs a write; a second row where only one may be becomes `conflict` with this message (and field). */
export async function orConflict<T>(write: Promise<T>, message: string, field?: string): Promise<T> {
  try {
    return await write;
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    throw new AppError("conflict", message, {
      cause: error,
      ...(field === undefined ? {} : { fields: { [field]: message } }),
    });
  }
}
