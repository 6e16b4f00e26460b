/** The console's one way to talk to its route handlers: contracts in and out, errors with a code and field messages. */
import type { z } from "zod";
import { consoleError } from "@/lib/contracts/common";

/** `code` is stable and translated by the caller; `fields` maps input paths to codes. */
export class ConsoleRequestError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly requestId: string | undefined,
    readonly fields: Readonly<Record<string, string>>,
  ) {
    super(message);
    this.name = "ConsoleRequestError";
  }
}

async function answerOf<Schema extends z.ZodType>(response: Response, schema: Schema): Promise<z.output<Schema>> {
  const body: unknown = await response.json().catch(() => null);
  if (response.ok) return schema.parse(body);
  const parsed = consoleError.safeParse(body);
  if (!parsed.success) throw new ConsoleRequestError(response.status, "internal", "Unreadable answer", undefined, {});
  const { code, message, requestId, fields } = parsed.data.error;
  throw new ConsoleRequestError(response.status, code, message, requestId, fields ?? {});
}

async function send(path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(path, { credentials: "same-origin", cache: "no-store", ...init });
  } catch {
    throw new ConsoleRequestError(0, "offline", "The console could not be reached", undefined, {});
  }
}

/** Reads; throws `ConsoleRequestError`. */
export async function readConsole<Schema extends z.ZodType>(
  path: string,
  schema: Schema,
  signal?: AbortSignal,
): Promise<z.output<Schema>> {
  return answerOf(await send(path, signal === undefined ? {} : { signal }), schema);
}

export interface WriteOptions<Schema extends z.ZodType> {
  readonly method: "POST" | "PATCH" | "DELETE";
  readonly body: unknown;
  readonly schema: Schema;
  /** Made once per intention, so that a second click or a retry is the same write. */
  readonly idempotencyKey: string;
}

/** Writes; throws `ConsoleRequestError`. */
export async function writeConsole<Schema extends z.ZodType>(
  path: string,
  { method, body, schema, idempotencyKey }: WriteOptions<Schema>,
): Promise<z.output<Schema>> {
  const response = await send(path, {
    method,
    headers: { "content-type": "application/json", "idempotency-key": idempotencyKey },
    body: JSON.stringify(body),
  });
  return answerOf(response, schema);
}

/** A new key for one intended write. */
export function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
