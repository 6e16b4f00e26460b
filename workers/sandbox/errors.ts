/** Errors as OpenAI words them: `{"error":{"message","type","param","code"}}`. */
import type { SandboxControl } from "./control";

/** A request that the sandbox refuses. Never billed. */
export class RequestError extends Error {
  constructor(
    readonly status: number,
    readonly code: string | null,
    message: string,
    readonly param: string | null = null,
    readonly type = "invalid_request_error",
  ) {
    super(message);
  }
}

/** The usual type and code of a status, as in OpenAI's error guide. */
const DEFAULTS = new Map<number, readonly [type: string, code: string | null]>([
  [400, ["invalid_request_error", "invalid_value"]],
  [401, ["invalid_request_error", "invalid_api_key"]],
  [403, ["invalid_request_error", "unsupported_country_region_territory"]],
  [404, ["invalid_request_error", "model_not_found"]],
  [429, ["requests", "rate_limit_exceeded"]],
  [503, ["service_unavailable_error", "server_is_overloaded"]],
]);
const CLIENT_ERROR = ["invalid_request_error", null] as const;
const SERVER_ERROR = ["server_error", "server_error"] as const;

export function unknownModel(id: string): RequestError {
  const message = `The model \`${id}\` does not exist or you do not have access to it.`;
  return new RequestError(404, "model_not_found", message, "model");
}

export function errorJson(type: string, code: string | null, message: string, param: string | null): string {
  return JSON.stringify({ error: { message, type, param, code } });
}

/** The error that a control asks for, at `status`. */
export function controlledErrorJson(control: SandboxControl, status: number): string {
  const [type, code] = DEFAULTS.get(status) ?? (status < 500 ? CLIENT_ERROR : SERVER_ERROR);
  const message = control.errorMessage ?? `The sandbox was asked to fail with ${status}.`;
  return errorJson(control.errorType ?? type, control.errorCode ?? code, message, null);
}
