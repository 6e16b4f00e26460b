/** What has no exact counterpart, told by the name of its field; and reading JSON that a stranger wrote. */
import type { Denial } from "@/lib/domain/denial";
import { denial } from "@/lib/domain/denial";

export type Json = Readonly<Record<string, unknown>>;

export class Untranslatable extends Error {
  constructor(
    readonly field: string,
    why: string,
  ) {
    super(`${field} ${why}`);
  }
}

/** Runs a translation of a request; what it cannot carry over becomes a denial that names the field. */
export function orDenial<T>(translate: () => T): T | Denial {
  try {
    return translate();
  } catch (error) {
    if (!(error instanceof Untranslatable)) throw error;
    return denial("invalid_request", { detail: error.message, param: error.field });
  }
}

export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function objectAt(value: unknown, field: string): Json {
  if (!isObject(value)) throw new Untranslatable(field, "must be an object");
  return value;
}

export function listAt(value: unknown, field: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new Untranslatable(field, "must be a list");
  return value;
}

/** A text that is not empty: neither vendor takes empty content. */
export function textAt(value: unknown, field: string): string {
  if (typeof value !== "string" || value === "") throw new Untranslatable(field, "must be a text that is not empty");
  return value;
}

export function numberAt(value: unknown, field: string, low: number, high: number): number {
  if (typeof value !== "number" || !(value >= low && value <= high))
    throw new Untranslatable(field, `must be a number from ${low} to ${high} to mean the same to this model`);
  return value;
}

export function flagAt(value: unknown, field: string): boolean {
  if (typeof value !== "boolean") throw new Untranslatable(field, "must be true or false");
  return value;
}

/** Null says as little as a member that is not there. */
export function stated(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** The result of `read` under a name, or nothing where the value is not stated. */
export function member<T>(name: string, value: unknown, read: (value: unknown) => T): Record<string, T> {
  return stated(value) ? { [name]: read(value) } : {};
}

/** Values that mean the same as saying nothing. */
export type Neutral = Readonly<Record<string, (value: unknown) => boolean>>;

/** Refuses every stated member that is neither translated nor neutral. `path` is "" or ends with a dot. */
export function onlyKnown(body: Json, translated: readonly string[], neutral: Neutral, path = ""): void {
  for (const [name, value] of Object.entries(body)) {
    if (translated.includes(name) || !stated(value)) continue;
    const isNeutral = Object.hasOwn(neutral, name) && neutral[name]?.(value) === true;
    if (!isNeutral)
      throw new Untranslatable(`${path}${name}`, "has no exact counterpart for a model of the other provider");
  }
}

const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/gu;

/** Parses JSON that goes on as a value: a number that a double does not hold would become another one. */
export function exactJson(text: string, field: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Untranslatable(field, "must be JSON");
  }
  for (const [token] of text.matchAll(TOKENS)) {
    if (token.startsWith('"')) continue;
    const number = Number(token);
    const isExact = /^-?\d+$/u.test(token) ? Number.isSafeInteger(number) : Number.isFinite(number);
    if (!isExact) throw new Untranslatable(field, "holds a number too large to be carried over exactly");
  }
  return value;
}
