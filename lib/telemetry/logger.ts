/**
 * One line of JSON per event on standard output. Secrets, prompts and answers never reach a line: fields by these names are
 * removed wherever they stand, and callers log ids and counts, not documents.
 */
import { pino } from "pino";
import type { Logger as PinoLogger } from "pino";

export type Logger = PinoLogger;

const SECRET_FIELDS = [
  "authorization",
  "apiKey",
  "api_key",
  "cookie",
  "password",
  "secret",
  "token",
  "prompt",
  "messages",
  "content",
  "input",
  "output",
  "headers",
  "body",
];

/** `name` is the process. `level` is one of pino's, or "silent". */
export function createLogger(options: { readonly name: string; readonly level: string }): Logger {
  return pino({
    name: options.name,
    level: options.level,
    redact: { paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`, `*.*.${field}`]), remove: true },
    // A driver's error may carry the statement's parameters or a URL with its password: message, code and stack only.
    serializers: { err: plainError },
  });
}

function plainError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: String(error) };
  const code: unknown = "code" in error ? error.code : undefined;
  return {
    type: error.name,
    message: error.message,
    ...(typeof code === "string" ? { code } : {}),
    stack: error.stack,
  };
}
