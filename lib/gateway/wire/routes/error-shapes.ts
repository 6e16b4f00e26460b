/**
 * Errors as the SDK of the route reads them. A refusal is made once, in OpenAI's shape; for the others it is re-cast:
 * Anthropic's `{type:"error", error, request_id}` (docs: errors) and Google's `{error:{code, message, status, details}}`
 * (google.rpc.Status). The Anthropic SDK sleeps as long as Retry-After says and retries every 429, so what is a matter of
 * money is 402 `billing_error` there and says `x-should-retry: false`.
 */
import type { GatewayAnswer } from "../../http";
import { jsonAnswer } from "../../http";
import type { Refusal } from "../error-response";
import { isBody } from "./fields";
import type { Protocol } from "./route-request";
import { dataEvent, typedEvent } from "./sse-text";

interface OpenAiError extends Readonly<Record<string, unknown>> {
  readonly message: string;
  readonly code: string;
  readonly request_id: string;
}

const ANTHROPIC_TYPES: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  409: "conflict_error",
  413: "request_too_large",
  429: "rate_limit_error",
  503: "overloaded_error",
  504: "timeout_error",
};

const GOOGLE_STATUSES: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  402: "RESOURCE_EXHAUSTED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  405: "UNIMPLEMENTED",
  409: "ABORTED",
  413: "INVALID_ARGUMENT",
  422: "FAILED_PRECONDITION",
  429: "RESOURCE_EXHAUSTED",
  503: "UNAVAILABLE",
  504: "DEADLINE_EXCEEDED",
};

function anthropicType(status: number): string {
  return ANTHROPIC_TYPES[status] ?? (status < 500 ? "invalid_request_error" : "api_error");
}

function googleStatus(status: number): string {
  return GOOGLE_STATUSES[status] ?? (status < 500 ? "INVALID_ARGUMENT" : "INTERNAL");
}

function errorOf(answer: GatewayAnswer): OpenAiError {
  const body: unknown = typeof answer.body === "string" ? JSON.parse(answer.body) : undefined;
  const error = isBody(body) && isBody(body.error) ? body.error : {};
  return {
    ...error,
    message: typeof error.message === "string" ? error.message : "",
    code: typeof error.code === "string" ? error.code : "error",
    request_id: typeof error.request_id === "string" ? error.request_id : "",
  };
}

/** A budget that is gone, or kept for others: waiting and asking again changes nothing. */
function isMoney(code: string): boolean {
  return code === "PROTECTED_RUNG" || code.endsWith("_EXHAUSTED");
}

function anthropicAnswer(answer: GatewayAnswer): GatewayAnswer {
  const { type: _type, request_id, ...rest } = errorOf(answer);
  const isExhausted = rest.code.endsWith("_EXHAUSTED");
  const status = isExhausted ? 402 : answer.status;
  const headers: Record<string, string> = { ...answer.headers, "request-id": request_id };
  if (isMoney(rest.code)) {
    headers["x-should-retry"] = "false";
    if (isExhausted) delete headers["retry-after"];
    delete headers["retry-after-ms"];
  }
  const body = { type: "error", error: { type: anthropicType(status), ...rest }, request_id };
  return jsonAnswer(status, body, headers);
}

function geminiAnswer(answer: GatewayAnswer): GatewayAnswer {
  const { message, code, request_id, budget, top_up_url, fallback_suggestion } = errorOf(answer);
  const metadata = {
    request_id,
    ...(budget === undefined ? {} : { budget: JSON.stringify(budget) }),
    ...(typeof fallback_suggestion === "string" ? { fallback_suggestion } : {}),
    ...(typeof top_up_url === "string" ? { top_up_url } : {}),
  };
  const details: Record<string, unknown>[] = [
    { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: code, domain: "spillway", metadata },
  ];
  const waitMs = Number(answer.headers["retry-after-ms"]);
  if (waitMs > 0) {
    const retryDelay = `${Math.ceil(waitMs) / 1000}s`;
    details.push({ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay });
  }
  const { status } = answer;
  const error = { code: status, message, status: googleStatus(status), details, request_id };
  return jsonAnswer(status, { error }, answer.headers);
}

/** An error answer in OpenAI's shape (a refusal, or an upstream failure), re-cast for the route's SDK. */
export function inShapeOf(protocol: Protocol, answer: GatewayAnswer): GatewayAnswer {
  if (protocol === "openai") return answer;
  return protocol === "anthropic" ? anthropicAnswer(answer) : geminiAnswer(answer);
}

/** A refusal likewise; its status is what the caller sees. */
export function refusalInShapeOf(protocol: Protocol, refusal: Refusal): Refusal {
  const answer = inShapeOf(protocol, refusal.answer);
  return { status: answer.status, code: refusal.code, answer };
}

/**
 * A mistake of the caller that the provider found, in the shape of the route: all three shapes keep its text in
 * `error.message`. For a provider that speaks the route's own shape the error is passed on as it came instead.
 */
export function passedError(protocol: Protocol, status: number, upstream: unknown, requestId: string): GatewayAnswer {
  const found = isBody(upstream) && isBody(upstream.error) ? upstream.error : {};
  const message = typeof found.message === "string" ? found.message : "The model provider refused the request.";
  const code = typeof found.code === "string" ? found.code : "invalid_request";
  const error = { message, type: "invalid_request_error", param: null, code, request_id: requestId };
  return inShapeOf(protocol, jsonAnswer(status, { error }, { "x-request-id": requestId }));
}

export interface StreamTrouble {
  readonly code: string;
  readonly message: string;
  readonly requestId: string;
}

/** An error inside a stream that began well. `sequence` is the next number of a responses stream. */
export function streamErrorText(protocol: Protocol | "responses", trouble: StreamTrouble, sequence = 0): string {
  const { code, message, requestId } = trouble;
  switch (protocol) {
    case "anthropic":
      return typedEvent({
        type: "error",
        error: { type: "api_error", message, code },
        request_id: requestId,
      });
    case "responses":
      return typedEvent({ type: "error", code, message, param: null, sequence_number: sequence });
    case "gemini": {
      const info = { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: code, domain: "spillway" };
      return dataEvent({ error: { code: 503, message, status: "UNAVAILABLE", details: [info] } });
    }
    case "openai":
      return dataEvent({ error: { message, type: "server_error", param: null, code, request_id: requestId } });
  }
}
