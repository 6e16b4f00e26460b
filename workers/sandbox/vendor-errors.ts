/**
 * What each vendor answers in the common kinds of trouble. Money trouble has the vendor's own kind of billing text, with
 * an amount and a link: whoever stands between must not let it through.
 */
import type { ErrorName } from "./control-fields";
import type { Vendor } from "./vendors";

export interface NamedError {
  readonly status: number;
  readonly message: string;
  readonly type?: string;
  readonly code?: string | null;
  /** Seconds. */
  readonly retryAfter?: number;
}

type Table = Readonly<Partial<Record<ErrorName, NamedError>>>;

const error = (
  status: number,
  type: string | undefined,
  code: string | null,
  message: string,
  retryAfter?: number,
): NamedError => ({
  ...{ status, code, message },
  ...(type === undefined ? {} : { type }),
  ...(retryAfter === undefined ? {} : { retryAfter }),
});

const QUOTA_TEXT =
  "You exceeded your current quota, please check your plan and billing details: https://billing.sandbox.invalid/plan";
const INVALID = "invalid_request_error";

const OPENAI: Readonly<Record<ErrorName, NamedError>> = {
  insufficient_quota: error(429, "insufficient_quota", "insufficient_quota", QUOTA_TEXT),
  rate_limit: error(429, "requests", "rate_limit_exceeded", "Rate limit reached for requests per min (RPM).", 7),
  context_length: error(
    400,
    INVALID,
    "context_length_exceeded",
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 130001 tokens.",
  ),
  content_filter: error(400, INVALID, "content_policy_violation", "Your request was rejected by our safety system."),
  overloaded: error(503, "service_unavailable_error", "server_is_overloaded", "The server is overloaded."),
  auth: error(401, INVALID, "invalid_api_key", "Incorrect API key provided."),
  permission: error(
    403,
    INVALID,
    "unsupported_country_region_territory",
    "Country, region, or territory not supported.",
  ),
  not_found: error(404, INVALID, "model_not_found", "The model does not exist or you do not have access to it."),
  server_error: error(500, "server_error", "server_error", "The server had an error while processing your request."),
  timeout: error(504, "server_error", "timeout", "The request timed out."),
};

const ANTHROPIC: Table = {
  insufficient_quota: error(
    400,
    undefined,
    null,
    "Your credit balance is too low to access the API (balance: $0.41). Please go to Plans & Billing to upgrade.",
  ),
  rate_limit: error(429, undefined, null, "This request would exceed your rate limit of 50 requests per minute.", 7),
  context_length: error(400, undefined, null, "prompt is too long: 200001 tokens > 200000 maximum"),
  content_filter: error(400, undefined, null, "Output blocked by content filtering policy"),
  overloaded: error(529, undefined, null, "Overloaded"),
  auth: error(401, undefined, null, "invalid x-api-key"),
  permission: error(403, undefined, null, "Your API key does not have permission to use the specified resource."),
  not_found: error(404, undefined, null, "model: not found"),
  server_error: error(500, undefined, null, "Internal server error"),
  timeout: error(504, undefined, null, "Request timed out"),
};

const GEMINI: Table = {
  insufficient_quota: error(429, undefined, "BILLING_DISABLED", QUOTA_TEXT),
  rate_limit: error(429, undefined, "RATE_LIMIT_EXCEEDED", "Resource has been exhausted (e.g. check quota).", 7),
  context_length: error(400, undefined, null, "The input token count (1048577) exceeds the maximum allowed (1048576)."),
  content_filter: error(400, undefined, null, "The prompt was blocked."),
  overloaded: error(503, undefined, null, "The model is overloaded. Please try again later."),
  auth: error(400, undefined, "API_KEY_INVALID", "API key not valid. Please pass a valid API key."),
  permission: error(403, undefined, null, "Permission denied on resource."),
  not_found: error(404, undefined, null, "The model is not found for API version v1beta."),
  server_error: error(500, undefined, null, "An internal error has occurred."),
  timeout: error(504, undefined, null, "Deadline expired before operation could complete."),
};

/** Only what differs from OpenAI. */
const TABLES: Partial<Record<Vendor, Table>> = {
  anthropic: ANTHROPIC,
  gemini: GEMINI,
  gemini_compat: GEMINI,
  azure: {
    insufficient_quota: error(403, undefined, "QuotaExceeded", `Your subscription has no credit left. ${QUOTA_TEXT}`),
    rate_limit: error(429, undefined, "429", "Requests have exceeded the call rate limit of your pricing tier.", 7),
    content_filter: error(400, undefined, "content_filter", "The response was filtered by the content policy."),
    auth: error(401, undefined, "401", "Access denied due to invalid subscription key or wrong API endpoint."),
    not_found: error(404, undefined, "DeploymentNotFound", "The API deployment for this resource does not exist."),
    overloaded: error(503, undefined, "503", "The service is temporarily unable to process your request."),
  },
  deepseek: {
    insufficient_quota: error(
      402,
      "unknown_error",
      "invalid_request_error",
      "Insufficient Balance (balance: 0.00 USD)",
    ),
    rate_limit: error(429, "rate_limit_error", "rate_limit_reached", "Rate limit reached."),
    overloaded: error(503, "service_unavailable", "service_unavailable", "Server overloaded."),
    context_length: error(
      400,
      INVALID,
      "invalid_request_error",
      "This model's maximum context length is 1048576 tokens.",
    ),
  },
  dashscope: {
    insufficient_quota: error(
      400,
      "Arrearage",
      "Arrearage",
      "Access denied, please make sure your account is in good standing.",
    ),
    rate_limit: error(429, "limit_requests", "limit_requests", "You exceeded your current requests list."),
    content_filter: error(
      400,
      "data_inspection_failed",
      "data_inspection_failed",
      "Input data may contain inappropriate content.",
    ),
    overloaded: error(503, "ServiceUnavailable", "ServiceUnavailable", "Too many requests are queued."),
  },
  zhipu: {
    insufficient_quota: error(
      429,
      undefined,
      "1113",
      "您的账户已欠费,请充值后重试。https://billing.sandbox.invalid/finance",
    ),
    rate_limit: error(429, undefined, "1302", "您当前使用该API的并发数过高,请降低并发。"),
    context_length: error(400, undefined, "1261", "Prompt 超长"),
    content_filter: error(400, undefined, "1301", "系统检测到输入或生成内容可能包含不安全或敏感内容。"),
    overloaded: error(429, undefined, "1305", "该模型当前访问量过大,请您稍后再试。"),
    auth: error(401, undefined, "1000", "身份验证失败。"),
    not_found: error(400, undefined, "1211", "模型不存在,请检查模型代码。"),
  },
  moonshot: {
    insufficient_quota: error(
      429,
      "exceeded_current_quota_error",
      null,
      "Your account is suspended, please check your plan: balance ¥0.12",
    ),
    rate_limit: error(
      429,
      "rate_limit_reached_error",
      null,
      "Your account reached max RPM: 3, please try again after 1 seconds",
      1,
    ),
    content_filter: error(400, "content_filter", null, "The request was rejected because it was considered high risk"),
    overloaded: error(
      429,
      "engine_overloaded_error",
      null,
      "The engine is currently overloaded, please try again later",
    ),
    auth: error(401, "invalid_authentication_error", null, "Invalid Authentication"),
  },
  qianfan: {
    insufficient_quota: error(
      429,
      "rate_limit_exceeded",
      "BILLING_INSUFFICIENT_BALANCE",
      "账户余额不足 (余额 0.07 元),请充值。",
    ),
    rate_limit: error(429, "rate_limit_exceeded", "rpm_rate_limit_exceeded", "Rate limit reached for RPM"),
    context_length: error(400, INVALID, "tokens_too_long", "the number of input tokens is too long"),
    content_filter: error(403, "access_denied", "system_unsafe", "the content of the request is unsafe"),
    overloaded: error(429, "rate_limit_exceeded", "cluster_rate_limit_exceeded", "Cluster rate limit reached"),
    server_error: error(500, "internal_error", "internal_error", "Internal error"),
    auth: error(401, "invalid_request_error", "invalid_iam_token", "IAM authentication failed"),
  },
  ark: {
    insufficient_quota: error(
      403,
      "Forbidden",
      "AccountOverdueError",
      "Your account has an overdue balance, please recharge.",
    ),
    rate_limit: error(
      429,
      "TooManyRequests",
      "RateLimitExceeded.EndpointRPMExceeded",
      "The requests per minute limit is exceeded.",
    ),
    overloaded: error(
      429,
      "TooManyRequests",
      "ServerOverloaded",
      "The service is currently unable to handle the request.",
    ),
    auth: error(401, "Unauthorized", "AuthenticationError", "The API key in the request is missing or invalid."),
    not_found: error(404, "NotFound", "InvalidEndpointOrModel.NotFound", "The model or endpoint does not exist."),
  },
  ollama: { not_found: error(404, undefined, null, "model not found, try pulling it first") },
};

export function namedError(vendor: Vendor, name: ErrorName): NamedError {
  return TABLES[vendor]?.[name] ?? OPENAI[name];
}
