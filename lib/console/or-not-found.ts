/** For pages of one object. */
import "server-only";
import { notFound } from "next/navigation";
import { AppError } from "@/lib/domain/fault";

/** The read's result, or the page for what does not exist (or may not be seen). Other faults pass through. */
export async function orNotFound<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof AppError && (error.code === "not_found" || error.code === "forbidden")) notFound();
    throw error;
  }
}
