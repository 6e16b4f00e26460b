import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { UpstreamErrorKind } from "./upstream-error";
import {
  classifyTransportFailure,
  classifyUpstreamError,
  isErrorInDisguise,
  readUpstreamError,
  UPSTREAM_ERROR_KINDS,
} from "./upstream-error";

const classify = (vendor: string, status: number, body: unknown) =>
  classifyUpstreamError(vendor, readUpstreamError(status, typeof body === "string" ? body : JSON.stringify(body)));

const error = (code: string | number | null, message = "x", type: string | null = null) => ({
  error: { message, type, param: null, code },
});
const anthropic = (type: string, message = "x", details?: object) => ({
  type: "error",
  error: { type, message, ...(details ? { details } : {}) },
  request_id: "req_1",
});
const gemini = (code: number, status: string, message = "x", details: object[] = []) => ({
  error: { code, message, status, details },
});
const reason = (text: string) => [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: text }];

/** Answers as the vendors document them. */
const ANSWERS: readonly (readonly [vendor: string, status: number, body: unknown, kind: UpstreamErrorKind])[] = [
  ["openai", 429, error("rate_limit_exceeded", "Rate limit reached", "requests"), "rate"],
  ["openai", 429, error("slow_down", "x", "rate_limit_error"), "rate"],
  ["openai", 429, error("insufficient_quota", "You exceeded your current quota", "insufficient_quota"), "money"],
  ["openai", 429, error("credit_balance_exhausted", "x", "insufficient_quota"), "money"],
  ["openai", 429, error("organization_spend_limit_exceeded", "x", "insufficient_quota"), "money"],
  ["openai", 429, error("project_spend_limit_exceeded", "x", "insufficient_quota"), "money"],
  ["openai", 429, error("organization_usage_limit_exceeded", "x", "insufficient_quota"), "money"],
  ["openai", 429, error("billing_not_active", "Your account is not active", "billing_not_active"), "money"],
  ["openai", 408, "", "server"],
  ["openai", 409, error(null), "server"],
  ["openai", 401, error("invalid_api_key", "x", "invalid_request_error"), "auth"],
  ["openai", 403, error("unsupported_country_region_territory"), "auth"],
  ["openai", 404, error("model_not_found", "x", "invalid_request_error"), "gone"],
  ["openai", 400, error("context_length_exceeded", "x", "invalid_request_error"), "context"],
  ["openai", 400, error("content_policy_violation", "x", "invalid_request_error"), "content"],
  ["openai", 400, error("invalid_value", "x", "invalid_request_error"), "invalid"],
  ["openai", 200, error("invalid_value", "x", "invalid_request_error"), "invalid"],
  ["openai", 413, "", "context"],
  ["openai", 422, error(null), "invalid"],
  ["openai", 500, error(null, "x", "server_error"), "server"],
  ["openai", 503, error("server_is_overloaded", "x", "service_unavailable_error"), "overloaded"],
  ["azure", 429, { error: { code: "429", message: "Requests to this operation have been limited" } }, "rate"],
  [
    "azure",
    400,
    { error: { code: "content_filter", innererror: { code: "ResponsibleAIPolicyViolation" } } },
    "content",
  ],
  ["azure", 404, { error: { code: "DeploymentNotFound", message: "x" } }, "gone"],
  ["azure", 401, { error: { code: "401", message: "Access denied due to invalid subscription key" } }, "auth"],
  [
    "azure",
    403,
    { error: { code: "403", message: "Out of call volume quota. Quota will be replenished in 1 day" } },
    "money",
  ],
  ["anthropic", 429, anthropic("rate_limit_error"), "rate"],
  ["anthropic", 429, anthropic("rate_limit_error", "x", { error_code: "enforced_spend_limit_reached" }), "money"],
  ["anthropic", 402, anthropic("billing_error"), "money"],
  [
    "anthropic",
    400,
    anthropic("invalid_request_error", "You have reached your specified API usage limits. x"),
    "money",
  ],
  ["anthropic", 400, anthropic("invalid_request_error", "Your credit balance is too low to access"), "money"],
  [
    "anthropic",
    400,
    anthropic("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
    "context",
  ],
  ["anthropic", 400, anthropic("invalid_request_error", "max_tokens: field required"), "invalid"],
  ["anthropic", 401, anthropic("authentication_error"), "auth"],
  ["anthropic", 403, anthropic("permission_error"), "auth"],
  ["anthropic", 404, anthropic("not_found_error", "model: claude-9"), "gone"],
  ["anthropic", 404, anthropic("not_found_error", "file_x was not found"), "invalid"],
  ["anthropic", 409, anthropic("conflict_error"), "server"],
  ["anthropic", 413, anthropic("request_too_large"), "context"],
  ["anthropic", 500, anthropic("api_error"), "server"],
  ["anthropic", 504, anthropic("timeout_error"), "server"],
  ["anthropic", 529, anthropic("overloaded_error", "Overloaded"), "overloaded"],
  ["anthropic", 200, anthropic("overloaded_error", "Overloaded"), "overloaded"],
  ["gemini", 429, gemini(429, "RESOURCE_EXHAUSTED"), "rate"],
  ["gemini", 429, [gemini(429, "RESOURCE_EXHAUSTED")], "rate"],
  ["gemini", 402, gemini(402, "RESOURCE_EXHAUSTED"), "money"],
  ["gemini", 400, gemini(400, "INVALID_ARGUMENT", "API key not valid.", reason("API_KEY_INVALID")), "auth"],
  ["gemini", 400, gemini(400, "FAILED_PRECONDITION", "The free tier is not available in your country."), "money"],
  ["gemini", 400, gemini(400, "INVALID_ARGUMENT", "The input token count (1200000) exceeds the maximum"), "context"],
  ["gemini", 400, gemini(400, "INVALID_ARGUMENT"), "invalid"],
  ["gemini", 403, gemini(403, "PERMISSION_DENIED"), "auth"],
  ["gemini", 404, gemini(404, "NOT_FOUND", "models/gemini-9 is not found"), "gone"],
  ["gemini", 400, gemini(400, "FAILED_PRECONDITION", "The File x is not in an ACTIVE state"), "invalid"],
  ["gemini", 503, gemini(503, "UNAVAILABLE"), "overloaded"],
  ["gemini", 504, gemini(504, "DEADLINE_EXCEEDED"), "server"],
  ["deepseek", 402, error("invalid_request_error", "Insufficient Balance", "unknown_error"), "money"],
  ["deepseek", 422, error("invalid_request_error"), "invalid"],
  ["deepseek", 429, error(null), "rate"],
  ["deepseek", 503, error(null), "overloaded"],
  ["dashscope", 400, error("Arrearage", "Access denied, please make sure your account is in good standing."), "money"],
  ["dashscope", 400, { code: "Arrearage", message: "Access denied", request_id: "r" }, "money"],
  ["dashscope", 403, error("AllocationQuota.FreeTierOnly", "The free tier of the model has been exhausted."), "money"],
  ["dashscope", 429, error("insufficient_quota", "You exceeded your current quota", "insufficient_quota"), "rate"],
  ["dashscope", 429, { code: "Throttling.RateQuota", message: "Requests rate limit exceeded" }, "rate"],
  ["dashscope", 429, { code: "Throttling", message: "x" }, "rate"],
  ["dashscope", 429, { code: "Throttling.AllocationQuota", message: "x" }, "rate"],
  ["dashscope", 429, error("limit_requests", "x", "limit_requests"), "rate"],
  ["dashscope", 400, error("data_inspection_failed", "x"), "content"],
  ["dashscope", 400, { code: "DataInspectionFailed", message: "x" }, "content"],
  ["dashscope", 400, { code: "InvalidParameter", message: "Range of input length should be [1, 129024]" }, "context"],
  ["dashscope", 401, error("invalid_api_key"), "auth"],
  ["dashscope", 404, error("model_not_found"), "gone"],
  ["dashscope", 500, { code: "InternalError.Algo", message: "x" }, "server"],
  ["zhipu", 429, error("1113", "您的账户已欠费,请充值后重试"), "money"],
  ["zhipu", 429, error("1302"), "rate"],
  ["zhipu", 429, error("1303"), "rate"],
  ["zhipu", 429, error("1304"), "money"],
  ["zhipu", 429, error("1305"), "overloaded"],
  ["zhipu", 429, error("1308"), "money"],
  ["zhipu", 429, error("1312"), "overloaded"],
  ["zhipu", 401, error("1000"), "auth"],
  ["zhipu", 401, error("1004"), "auth"],
  ["zhipu", 429, error("1309"), "money"],
  ["zhipu", 401, error("1002"), "auth"],
  ["zhipu", 400, error("1211"), "gone"],
  ["zhipu", 400, error("1214"), "invalid"],
  ["zhipu", 400, error("1261"), "context"],
  ["zhipu", 400, error("1301"), "content"],
  ["zhipu", 500, error("1234"), "server"],
  ["moonshot", 429, error(null, "x", "exceeded_current_quota_error"), "money"],
  ["moonshot", 429, error(null, "x", "rate_limit_reached_error"), "rate"],
  ["moonshot", 429, error(null, "x", "engine_overloaded_error"), "overloaded"],
  ["moonshot", 400, error(null, "x", "content_filter"), "content"],
  ["moonshot", 401, error(null, "x", "invalid_authentication_error"), "auth"],
  ["moonshot", 400, error(null, "Invalid request: Your request exceeded model token limit: 8192"), "context"],
  ["qianfan", 429, error("rpm_rate_limit_exceeded", "x", "rate_limit_exceeded"), "rate"],
  ["qianfan", 429, error("BILLING_INSUFFICIENT_BALANCE"), "money"],
  ["qianfan", 400, error("tokens_too_long", "x", "invalid_request_error"), "context"],
  ["qianfan", 403, error("system_unsafe", "x", "access_denied"), "content"],
  ...["functions_unsafe", "user_setting_unsafe"].map((code) => ["qianfan", 403, error(code), "content"] as const),
  ...["tpm", "input_tpm", "output_tpm", "user", "cluster", "cluster_rpm", "cluster_tpm", "preemptible"].map(
    (name) => ["qianfan", 429, error(`${name}_rate_limit_exceeded`), "rate"] as const,
  ),
  ...["malformed_json", "invalid_messages", "invalid_argument"].map(
    (code) => ["qianfan", 400, error(code, "x", "invalid_request_error"), "invalid"] as const,
  ),
  ["qianfan", 400, error("characters_too_long"), "context"],
  ["qianfan", 400, error("invalid_model"), "gone"],
  ["qianfan", 405, error("method_not_supported"), "gone"],
  ["qianfan", 429, error("QUOTA_USER_DAILY_FREE"), "money"],
  ["qianfan", 401, error("invalid_appid"), "auth"],
  ["qianfan", 401, error("no_parameter_permission"), "auth"],
  ["qianfan", 401, error("invalid_iam_token"), "auth"],
  ["qianfan", 401, error("invalid_model"), "gone"],
  ["qianfan", 200, { error_code: 17, error_msg: "Open api daily request limit reached" }, "money"],
  ["qianfan", 200, { error_code: 18, error_msg: "Open api qps request limit reached" }, "rate"],
  ["qianfan", 200, { error_code: 110, error_msg: "Access token invalid" }, "auth"],
  ["qianfan", 500, error("dispatch_internal_error"), "server"],
  ["ark", 403, error("AccountOverdueError", "x", "Forbidden"), "money"],
  ["ark", 429, error("SetLimitExceeded", "x", "TooManyRequests"), "money"],
  ["ark", 429, error("QuotaExceeded", "Your account has exhausted its free trial quota for the model"), "money"],
  ["ark", 429, error("QuotaExceeded", "You have exceeded the weekly usage quota."), "money"],
  ["ark", 429, error("QuotaExceeded", "The request has exceeded the quota."), "rate"],
  ["ark", 429, error("RateLimitExceeded.EndpointTPMExceeded", "x", "TooManyRequests"), "rate"],
  ["ark", 429, error("ModelAccountRpmRateLimitExceeded", "x", "TooManyRequests"), "rate"],
  ["ark", 429, error("ServerOverloaded", "x", "TooManyRequests"), "overloaded"],
  ["ark", 404, error("InvalidEndpointOrModel.NotFound"), "gone"],
  ["ark", 404, error("ModelNotOpen"), "gone"],
  ["ark", 403, error("AccessDenied"), "auth"],
  ["ark", 400, error("InvalidParameter"), "invalid"],
  ["ark", 500, error("InternalServiceError"), "server"],
  ["ark", 503, error("ServiceUnavailable"), "overloaded"],
  ["ark", 400, error("InputTextSensitiveContentDetected"), "content"],
  ["ark", 400, error("MissingParameter"), "invalid"],
  ["ark", 401, error("AuthenticationError"), "auth"],
  ["vllm", 400, error(400, "This model's maximum context length is 4096 tokens"), "context"],
  ["vllm", 404, error(404, "The model `x` does not exist.", "NotFoundError"), "gone"],
  ["ollama", 503, { error: "server busy" }, "overloaded"],
  ["somebody-new", 402, "", "money"],
  ["somebody-new", 429, "<html>Too many requests</html>", "rate"],
  ["somebody-new", 429, error("insufficient_quota"), "money"],
  ["somebody-new", 403, { code: "x", error: "Your team has used all available credits" }, "money"],
  ["somebody-new", 403, { code: 30001, message: "Sorry, your account balance is insufficient" }, "money"],
  ["somebody-new", 429, error("1", "账户余额不足"), "money"],
  ["somebody-new", 400, error("invalid_value", "'insufficient balance' is not a role"), "invalid"],
  ["somebody-new", 418, "", "invalid"],
  ["somebody-new", 502, "<html>Bad gateway</html>", "server"],
];

describe("error answers of vendors", () => {
  it.each(ANSWERS)("%s %i %j means %s", (vendor, status, body, kind) => {
    expect(classify(vendor, status, body).kind).toBe(kind);
  });

  it("money, keys and missing models are never asked of the same deployment again; rate and overload may be", () => {
    for (const [vendor, status, body, kind] of ANSWERS) {
      const { isRetryable, mayTryOther, tripsBreaker } = classify(vendor, status, body);
      expect(isRetryable).toBe(["rate", "overloaded", "server"].includes(kind));
      const isAboutUs =
        kind !== "auth" || (status === 401 && !JSON.stringify(body).includes("no_parameter_permission"));
      if (isAboutUs) expect(tripsBreaker).toBe(["money", "auth", "overloaded", "server"].includes(kind));
      expect(mayTryOther).toBe(["rate", "money", "auth", "gone", "overloaded", "server"].includes(kind));
    }
  });

  it("Azure bills filtered and over-long prompts; nobody bills a rate limit; time-outs may be billed", () => {
    expect(classify("azure", 400, { error: { code: "content_filter" } }).mayHaveBilled).toBe(true);
    expect(classify("azure", 400, error("context_length_exceeded")).mayHaveBilled).toBe(true);
    expect(classify("openai", 400, error("content_filter")).mayHaveBilled).toBe(false);
    expect(classify("openai", 429, error("rate_limit_exceeded")).mayHaveBilled).toBe(false);
    expect(classify("openai", 500, error(null)).mayHaveBilled).toBe(false);
    expect(classify("openai", 504, "").mayHaveBilled).toBe(true);
    expect(classify("anthropic", 200, anthropic("overloaded_error")).mayHaveBilled).toBe(true);
    expect(classifyTransportFailure("unserved").mayHaveBilled).toBe(false);
    expect(classifyTransportFailure("unknown")).toMatchObject({
      kind: "server",
      mayHaveBilled: true,
      tripsBreaker: true,
    });
  });

  it("no money and refused keys are the account's, but for what is allowed of one model", () => {
    const isOfAccount = (vendor: string, status: number, body: unknown) => classify(vendor, status, body).isOfAccount;
    for (const [vendor, status, body, kind] of ANSWERS) {
      if (isOfAccount(vendor, status, body)) expect(["money", "auth"]).toContain(kind);
    }
    expect(isOfAccount("openai", 429, error("insufficient_quota"))).toBe(true);
    expect(isOfAccount("anthropic", 401, anthropic("authentication_error"))).toBe(true);
    expect(isOfAccount("zhipu", 429, error("1113"))).toBe(true);
    expect(isOfAccount("anthropic", 403, anthropic("permission_error"))).toBe(false);
    expect(isOfAccount("dashscope", 403, error("AllocationQuota.FreeTierOnly"))).toBe(false);
    expect(isOfAccount("ark", 429, error("SetLimitExceeded"))).toBe(false);
    expect(isOfAccount("zhipu", 429, error("1304"))).toBe(false);
  });

  it("what hides behind status 200 is not billed where it was never begun", () => {
    expect(classify("qianfan", 200, { error_code: 18, error_msg: "x" }).mayHaveBilled).toBe(false);
    expect(classify("dashscope", 200, { code: "Throttling", message: "x" }).mayHaveBilled).toBe(true);
    expect(classify("qianfan", 200, error("internal_error")).mayHaveBilled).toBe(true);
  });

  it("no answer that a caller can bring about by what it asks for shuts a deployment for the others", () => {
    const provoked: [string, number, unknown][] = [
      ["openai", 404, error(null, "No such File object: file-x", "invalid_request_error")],
      ["openai", 404, error("model_not_found", "x")],
      ["openai", 401, error(null, "You have insufficient permissions for this operation. Missing scopes: x")],
      ["qianfan", 401, error("no_parameter_permission")],
      ["openai", 403, error(null, "You are not allowed to sample from this")],
      ["anthropic", 403, anthropic("permission_error")],
      ["gemini", 403, gemini(403, "PERMISSION_DENIED", "You do not have permission to access the File x")],
      ["dashscope", 403, { code: "AccessDenied", message: "current user api does not support asynchronous calls." }],
      ["ark", 403, error("OperationDenied.InvalidState", "The specified file is in invalid state")],
      ["moonshot", 403, error(null, "x", "permission_denied_error")],
      ["azure", 400, { error: { code: "content_filter" } }],
      ["openai", 413, ""],
      ["openai", 429, error("rate_limit_exceeded")],
    ];
    expect(provoked.filter(([vendor, status, body]) => classify(vendor, status, body).tripsBreaker)).toEqual([]);
  });

  it("any text of any status has a class", () => {
    fc.assert(
      fc.property(
        fc.constantFrom("openai", "azure", "gemini", "toString", "__proto__", ""),
        fc.integer({ min: 0, max: 999 }),
        fc.oneof(fc.string(), fc.json()),
        (vendor, status, body) => {
          expect(UPSTREAM_ERROR_KINDS).toContain(classify(vendor, status, body).kind);
        },
      ),
    );
  });

  it("a body nested a thousand deep or with a thousand codes is read at its surface only", () => {
    const deep = `${'{"error":'.repeat(1000)}"x"${"}".repeat(1000)}`;
    expect(readUpstreamError(400, deep).codes).toEqual([]);
    const wide = { error: { details: Array.from({ length: 1000 }, (_, n) => ({ code: n, reason: "r" })) } };
    expect(readUpstreamError(400, JSON.stringify(wide)).codes.length).toBeLessThan(20);
  });

  it("an error behind status 200 is told from an answer", () => {
    expect(isErrorInDisguise({ error_code: 18, error_msg: "x" })).toBe(true);
    expect(isErrorInDisguise({ error: { code: "x" } })).toBe(true);
    expect(isErrorInDisguise({ code: "Throttling", message: "x" })).toBe(true);
    expect(isErrorInDisguise({ choices: [], error: { code: "x" } })).toBe(false);
    expect(isErrorInDisguise({ data: [], code: 0 })).toBe(false);
    expect(isErrorInDisguise({ id: "x", error: null })).toBe(false);
    expect(isErrorInDisguise([])).toBe(false);
  });
});
