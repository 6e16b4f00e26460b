/**
 * The only place that knows what HTTP makes of a denial or a fault: status, code, headers, the OpenAI error object.
 * Money refusals say `x-should-retry: false`, which the official SDKs obey, and carry no Retry-After.
 */
import type { BudgetFacts, Denial, DenialCode } from "@/lib/domain/denial";
import type { GatewayAnswer } from "../http";
import { jsonAnswer } from "../http";
import type { Language } from "./messages";
import type { Protocol } from "./routes/route-request";
import { DEGRADED_HEADER } from "./response-headers";
import { denialMessage, sessionAdvice, suggestion } from "./messages";

export interface ErrorContext {
  /** Whose SDK reads the error; the shape is given at the end (routes/error-shapes.ts). */
  readonly protocol: Protocol;
  readonly requestId: string;
  readonly language: Language;
  /** 429, or 402 where the organisation prefers it. */
  readonly budgetStatus: number;
  readonly topUpUrl: string | null;
}

interface HttpShape {
  readonly status: number;
  readonly type: string;
  readonly code: string;
}

const SHAPES: Readonly<Record<Exclude<DenialCode, "budget_exhausted">, HttpShape>> = {
  invalid_api_key: { status: 401, type: "invalid_request_error", code: "invalid_api_key" },
  model_not_allowed: { status: 403, type: "invalid_request_error", code: "model_not_allowed" },
  model_not_found: { status: 404, type: "invalid_request_error", code: "model_not_found" },
  environment_forbidden: { status: 403, type: "invalid_request_error", code: "environment_forbidden" },
  consumer_forbidden: { status: 403, type: "invalid_request_error", code: "consumer_forbidden" },
  consumer_frozen: { status: 403, type: "invalid_request_error", code: "consumer_frozen" },
  provider_budget_exhausted: { status: 503, type: "server_error", code: "upstream_error" },
  protected_rung: { status: 429, type: "requests", code: "PROTECTED_RUNG" },
  rate_limit_exceeded: { status: 429, type: "requests", code: "rate_limit_exceeded" },
  concurrency_limit_exceeded: { status: 429, type: "requests", code: "concurrency_limit_exceeded" },
  max_cost_exceeded: { status: 400, type: "invalid_request_error", code: "max_cost_exceeded" },
  price_missing: { status: 422, type: "invalid_request_error", code: "price_missing" },
  deferred_running: { status: 409, type: "invalid_request_error", code: "deferred_running" },
  object_not_found: { status: 404, type: "invalid_request_error", code: "object_not_found" },
  batch_not_settled: { status: 409, type: "invalid_request_error", code: "batch_not_settled" },
  response_not_settled: { status: 409, type: "invalid_request_error", code: "response_not_settled" },
  idempotency_mismatch: { status: 422, type: "idempotency_error", code: "idempotency_mismatch" },
  idempotency_in_progress: { status: 409, type: "idempotency_error", code: "idempotency_in_progress" },
  idempotency_not_kept: { status: 409, type: "idempotency_error", code: "idempotency_not_kept" },
  invalid_request: { status: 400, type: "invalid_request_error", code: "invalid_request" },
  request_too_large: { status: 413, type: "invalid_request_error", code: "request_too_large" },
  not_found: { status: 404, type: "invalid_request_error", code: "not_found" },
  method_not_allowed: { status: 405, type: "invalid_request_error", code: "method_not_allowed" },
  identity_provider_unavailable: {
    status: 503,
    type: "service_unavailable_error",
    code: "identity_provider_unavailable",
  },
  quota_store_unavailable: { status: 503, type: "service_unavailable_error", code: "quota_store_unavailable" },
};

/** DEPARTMENT_BUDGET_EXHAUSTED and its kin; quotas of tokens or requests say QUOTA. */
function exhaustedCode(budget: BudgetFacts | undefined): string {
  if (!budget) return "BUDGET_EXHAUSTED";
  return `${budget.scope.toUpperCase()}_${budget.meter === "cost" ? "BUDGET" : "QUOTA"}_EXHAUSTED`;
}

function shapeOf(refusal: Denial, context: ErrorContext): HttpShape {
  if (refusal.code !== "budget_exhausted") return SHAPES[refusal.code];
  return { status: context.budgetStatus, type: "insufficient_quota", code: exhaustedCode(refusal.budget) };
}

/** The code by which a refusal is known in the books: the one that callers are told, where that says enough. */
export function refusalCode({ code, budget }: Denial): string {
  if (code === "provider_budget_exhausted") return code;
  return code === "budget_exhausted" ? exhaustedCode(budget) : SHAPES[code].code;
}

function budgetBody(budget: BudgetFacts) {
  return {
    scope: budget.scope,
    consumer: budget.consumerName,
    consumer_id: budget.consumerId,
    meter: budget.meter,
    period: budget.periodKind,
    // Nanos of the currency for cost, pieces for the other meters; texts, because JSON numbers are doubles.
    limit: String(budget.limit),
    used: String(budget.used),
    held: String(budget.held),
    currency: budget.meter === "cost" ? budget.currency : null,
    resets_at: budget.resetsAtMs === null ? null : new Date(budget.resetsAtMs).toISOString(),
  };
}

/** Up to a fifth later for each caller, so that they do not all come back at once; never over the 60 s SDKs obey. */
function jittered(retryAfterMs: number, random: number): number {
  return Math.min(60_000, Math.ceil(retryAfterMs * (1 + random * 0.2)));
}

export function retryHeaders(retryAfterMs: number, random: number): Record<string, string> {
  const waitMs = jittered(retryAfterMs, random);
  return { "retry-after": String(Math.max(1, Math.ceil(waitMs / 1000))), "retry-after-ms": String(waitMs) };
}

/** Asking again brings the same answer until somebody has done something. */
const NEVER_RETRIED: ReadonlySet<DenialCode> = new Set([
  "budget_exhausted",
  "provider_budget_exhausted",
  "idempotency_not_kept",
]);

export interface Refusal {
  readonly status: number;
  /** As the books know it. */
  readonly code: string;
  readonly answer: GatewayAnswer;
}

/** `random` is in [0, 1). */
export function refusalAnswer(refusal: Denial, context: ErrorContext, random: number): Refusal {
  const shape = shapeOf(refusal, context);
  const headers: Record<string, string> = { "content-type": "application/json", "x-request-id": context.requestId };
  if (NEVER_RETRIED.has(refusal.code)) headers["x-should-retry"] = "false";
  else if (refusal.retryAfterMs !== undefined) Object.assign(headers, retryHeaders(refusal.retryAfterMs, random));
  if (refusal.isDegraded) headers[DEGRADED_HEADER] = "quota-store";
  if (refusal.rungBasisPoints !== undefined) headers["x-spillway-rung"] = String(refusal.rungBasisPoints / 100);
  const error: Record<string, unknown> = {
    message: denialMessage(refusal, context.language),
    type: shape.type,
    param: refusal.param ?? (refusal.model === undefined ? null : "model"),
    code: shape.code,
    request_id: context.requestId,
  };
  const isSession = refusal.budget?.scope === "session";
  const advice = isSession ? sessionAdvice(context.language) : suggestion(refusal.code, context.language);
  if (advice !== undefined) error.fallback_suggestion = advice;
  if (refusal.budget) error.budget = budgetBody(refusal.budget);
  if (refusal.code === "budget_exhausted" && !isSession && context.topUpUrl !== null)
    error.top_up_url = context.topUpUrl;
  return { status: shape.status, code: refusalCode(refusal), answer: jsonAnswer(shape.status, { error }, headers) };
}

export interface UpstreamProblem {
  readonly status: 502 | 503 | 504;
  readonly code: "upstream_error" | "upstream_timeout";
  readonly retryAfterMs?: number;
}

const UPSTREAM_TEXT: Readonly<Record<UpstreamProblem["code"], Readonly<Record<Language, string>>>> = {
  upstream_error: { en: "The model provider could not serve this call.", "zh-CN": "模型服务商暂时无法处理本次调用。" },
  upstream_timeout: { en: "The model provider did not answer in time.", "zh-CN": "模型服务商未在规定时间内答复。" },
};

/** The provider's own text is not repeated: it may speak of an account the caller does not have. */
export function upstreamErrorAnswer(problem: UpstreamProblem, context: ErrorContext, random: number): GatewayAnswer {
  const headers: Record<string, string> = { "content-type": "application/json", "x-request-id": context.requestId };
  if (problem.retryAfterMs !== undefined) Object.assign(headers, retryHeaders(problem.retryAfterMs, random));
  const message = UPSTREAM_TEXT[problem.code][context.language];
  const error = { message, type: "server_error", param: null, code: problem.code, request_id: context.requestId };
  return jsonAnswer(problem.status, { error }, headers);
}
