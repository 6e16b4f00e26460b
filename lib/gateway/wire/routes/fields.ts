/**
 * Reading members of a request body. What is priced or limited by must be well-formed: a wrong type, a fraction, a number
 * out of range (1e309 parses as infinite) or a text for a number is one sentence that names the field. Null means absent.
 */
import type { Denial } from "@/lib/domain/denial";
import { denial } from "@/lib/domain/denial";
import { scanJson } from "../json-scan";
import { utf8Length } from "../utf8-length";
import { smuggledMember } from "./bought-members";
import type { JsonRequest, RequestShape } from "./route-request";

/** Thrown inside a parser; `asDenial` makes it an answer. */
export class Invalid extends Error {
  constructor(
    readonly param: string,
    readonly detail: string,
  ) {
    super(detail);
  }
}

export type Body = Readonly<Record<string, unknown>>;

export const MAX_OUTPUT_TOKENS = 10_000_000;
const MAX_NAME_LENGTH = 200;
/** More than any vendor's tile or patch rule gives for one picture. */
export const TOKENS_PER_MEDIA_PART = 50_000;
/** Token bytes: byte-level BPE never gives more tokens than bytes; prose has about four bytes a token. */
export const BYTES_PER_TOKEN_GUESS = 4;

export function isBody(value: unknown): value is Body {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A member that is there; null counts as absent. */
export function given(body: Body, name: string): unknown {
  const value = body[name];
  return value === null ? undefined : value;
}

export function wholeNumber(body: Body, name: string, low: number, high: number, label = name): number | null {
  const value = given(body, name);
  if (value === undefined) return null;
  if (typeof value !== "number" || !Number.isInteger(value) || value < low || value > high) {
    throw new Invalid(label, `${label} must be a whole number from ${low} to ${high}`);
  }
  return value;
}

export function flag(body: Body, name: string, label = name): boolean {
  const value = given(body, name);
  if (value === undefined) return false;
  if (typeof value !== "boolean") throw new Invalid(label, `${label} must be true or false`);
  return value;
}

export function textOf(body: Body, name: string, label = name): string | null {
  const value = given(body, name);
  if (value === undefined) return null;
  if (typeof value !== "string") throw new Invalid(label, `${label} must be a text`);
  return value;
}

/** A short word such as a tier, a size or a quality. */
export function wordOf(body: Body, name: string, label = name): string | null {
  const value = textOf(body, name, label);
  if (value !== null && value.length > MAX_NAME_LENGTH) throw new Invalid(label, `${label} is too long`);
  return value;
}

export function objectOf(body: Body, name: string, label = name): Body | undefined {
  const value = given(body, name);
  if (value === undefined) return undefined;
  if (!isBody(value)) throw new Invalid(label, `${label} must be an object`);
  return value;
}

/** A list of objects; absent is an empty list. */
export function objectsOf(body: Body, name: string, label = name): readonly Body[] {
  const value = given(body, name);
  if (value === undefined) return [];
  if (!Array.isArray(value) || !value.every(isBody)) throw new Invalid(label, `${label} must be a list of objects`);
  return value;
}

export function modelOf(body: Body): string {
  return modelNamed(body.model);
}

export function modelNamed(model: unknown): string {
  if (typeof model !== "string" || model === "" || model.length > MAX_NAME_LENGTH) {
    throw new Invalid("model", "model must be the name of a model");
  }
  return model;
}

export function endUserOf(body: Body, name = "user", label = name): string | null {
  return textOf(body, name, label)?.slice(0, 256) ?? null;
}

/** UTF-8 bytes of every text in a value. Binary in texts (data URLs, base64) counts too. */
export function textBytes(value: unknown): number {
  if (typeof value === "string") return utf8Length(value);
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + textBytes(item), 0);
  if (!isBody(value)) return 0;
  return Object.entries(value).reduce((sum, [name, item]) => (name === "role" ? sum : sum + textBytes(item)), 0);
}

export function guessTokens(value: unknown): number {
  return Math.ceil(textBytes(value) / BYTES_PER_TOKEN_GUESS);
}

/** Types of all content parts at any depth: in the `content` of messages and of tool results, in the `output` of calls. */
export function partTypes(content: unknown): readonly string[] {
  if (Array.isArray(content)) return content.flatMap(partTypes);
  if (!isBody(content)) return [];
  const nested = [...partTypes(content.content), ...partTypes(content.output)];
  return typeof content.type === "string" ? [content.type, ...nested] : nested;
}

/** Runs a reader of values; what it refuses becomes a denial. */
export function asDenial<T>(read: () => T): T | Denial {
  try {
    return read();
  } catch (error) {
    if (error instanceof Invalid) return denial("invalid_request", { detail: error.detail, param: error.param });
    throw error;
  }
}

/** One for all bodies: making a decoder costs more than using it. */
const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Parses a JSON body and lets `shape` read it, or says in one sentence what is wrong. */
export function parseJsonBody(
  bytes: Uint8Array,
  shape: (body: Body, bodyBytes: number) => RequestShape,
): JsonRequest | Denial {
  let text: string;
  let body: unknown;
  try {
    text = utf8.decode(bytes);
    body = JSON.parse(text);
  } catch {
    return denial("invalid_request", { detail: "the body is not valid JSON in UTF-8" });
  }
  if (!isBody(body)) return denial("invalid_request", { detail: "the body must be a JSON object" });
  const scan = scanJson(text);
  if (scan.isTooDeep) return denial("invalid_request", { detail: "the body is nested too deeply" });
  if (scan.duplicate !== undefined) {
    const param = scan.duplicate.slice(0, 100);
    return denial("invalid_request", { detail: "a name occurs twice in one object", param });
  }
  const object = body;
  const read = asDenial(() => shape(object, bytes.length));
  if (read.kind === "denial") return read;
  // A body that goes on as it is was priced by the call, whatever it says.
  const smuggled = read.kind === "passthrough" ? undefined : smuggledMember(object, scan.members.keys());
  if (smuggled !== undefined) {
    const param = smuggled.slice(0, 100);
    return denial("invalid_request", { detail: "this member is not the caller's to set", param });
  }
  return { text, scan, body, bodyBytes: bytes.length, ...read };
}
