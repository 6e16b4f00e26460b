/** Errors in the words of each vendor. OpenAI's body is `{"error":{"message","type","param","code"}}`. */
import type { SandboxControl } from "./control-fields";
import type { HeaderLines } from "./reply";
import { namedError } from "./vendor-errors";
import type { Vendor } from "./vendors";

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

export interface Failure {
  readonly status: number;
  readonly message: string;
  /** Undefined where the vendor's usual one for the status will do. */
  readonly type?: string | undefined;
  readonly code?: string | null | undefined;
  readonly param?: string | null;
  readonly retryAfter?: number | undefined;
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

const ANTHROPIC_TYPES = new Map([
  [400, "invalid_request_error"],
  [401, "authentication_error"],
  [402, "billing_error"],
  [403, "permission_error"],
  [404, "not_found_error"],
  [409, "conflict_error"],
  [413, "request_too_large"],
  [429, "rate_limit_error"],
  [504, "timeout_error"],
  [529, "overloaded_error"],
]);
const GEMINI_STATUSES = new Map([
  [400, "INVALID_ARGUMENT"],
  [401, "UNAUTHENTICATED"],
  [403, "PERMISSION_DENIED"],
  [404, "NOT_FOUND"],
  [429, "RESOURCE_EXHAUSTED"],
  [500, "INTERNAL"],
  [503, "UNAVAILABLE"],
  [504, "DEADLINE_EXCEEDED"],
]);

export function unknownModel(id: string): RequestError {
  const message = `The model \`${id}\` does not exist or you do not have access to it.`;
  return new RequestError(404, "model_not_found", message, "model");
}

export function missingField(name: string): RequestError {
  return new RequestError(400, "missing_required_parameter", `Missing required parameter: '${name}'.`, name);
}

export function errorJson(type: string, code: string | null, message: string, param: string | null): string {
  return JSON.stringify({ error: { message, type, param, code } });
}

/** The error body of a vendor. */
export function errorBody(vendor: Vendor, failure: Failure, callId = "0"): string {
  const { status, message, type, param = null } = failure;
  const code = failure.code ?? null;
  switch (vendor) {
    case "anthropic": {
      const usual = ANTHROPIC_TYPES.get(status) ?? (status < 500 ? "invalid_request_error" : "api_error");
      return JSON.stringify({ type: "error", error: { type: type ?? usual, message }, request_id: `req_${callId}` });
    }
    case "gemini":
    case "gemini_compat":
      return JSON.stringify({ error: geminiError(failure) });
    case "azure":
      return JSON.stringify({ error: azureError(failure) });
    case "zhipu":
      return JSON.stringify({ error: { code: code ?? String(status), message } });
    case "moonshot":
      return JSON.stringify({ error: { message, type: type ?? "invalid_request_error" } });
    case "qianfan":
      return JSON.stringify({ error: { code, message, type: type ?? "invalid_request_error" }, id: `as-${callId}` });
    case "dashscope":
      return JSON.stringify({ error: { message, type, param, code }, request_id: callId });
    case "ollama":
      return JSON.stringify({ error: message });
    case "openai":
    case "deepseek":
    case "ark":
    case "xai":
    case "vllm":
      return errorJson(type ?? openAiDefaults(status)[0], code, message, param);
  }
}

function geminiError({ status, message, code, retryAfter }: Failure): object {
  const details: object[] = [];
  if (code !== null && code !== undefined) {
    details.push({ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: code, domain: "googleapis.com" });
  }
  if (retryAfter !== undefined) {
    details.push({ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: `${retryAfter}s` });
  }
  const name = GEMINI_STATUSES.get(status) ?? (status < 500 ? "FAILED_PRECONDITION" : "INTERNAL");
  return { code: status, message, status: name, ...(details.length === 0 ? {} : { details }) };
}

/** Azure gives its filter's verdict inside, and otherwise the status as a code. */
function azureError({ status, message, code, type, param = null }: Failure): object {
  if (code !== "content_filter") return { code: code ?? String(status), message };
  const innererror = {
    code: "ResponsibleAIPolicyViolation",
    content_filter_result: { violence: { filtered: true, severity: "high" } },
  };
  return { message, type: type ?? null, param: param ?? "prompt", code, status, innererror };
}

/** What a refused request answers. */
export function refusalOf(error: RequestError, vendor: Vendor): Failure {
  const { status, code, message, param } = error;
  // The type is OpenAI's; who has a table of their own by status does not want it.
  const type = vendor === "anthropic" ? undefined : error.type;
  return { status, code: vendor === "gemini_compat" ? null : code, message, param, type };
}

/** The error that a control asks for, by name or by status; `fallback` where it gives neither. */
export function askedFailure(control: SandboxControl, vendor: Vendor, fallback = 500): Failure {
  const named = control.error === undefined ? undefined : namedError(vendor, control.error);
  const status = control.status ?? named?.status ?? fallback;
  const [type, code] = vendor === "anthropic" || vendor === "gemini" ? [undefined, null] : openAiDefaults(status);
  return {
    status,
    message: control.errorMessage ?? named?.message ?? `The sandbox was asked to fail with ${status}.`,
    type: control.errorType ?? (named === undefined ? type : named.type),
    code: control.errorCode ?? (named === undefined ? code : named.code),
    retryAfter: control.retryAfter ?? named?.retryAfter,
  };
}

/** `retry-after` and its precise twin, where the failure says when to come back. */
export function retryHeaders(failure: Failure, control: SandboxControl): HeaderLines {
  const seconds = failure.retryAfter === undefined ? "" : `retry-after: ${failure.retryAfter}\r\n`;
  return control.retryAfterMs === undefined ? seconds : `${seconds}retry-after-ms: ${control.retryAfterMs}\r\n`;
}

function openAiDefaults(status: number): readonly [type: string, code: string | null] {
  return DEFAULTS.get(status) ?? (status < 500 ? CLIENT_ERROR : SERVER_ERROR);
}
