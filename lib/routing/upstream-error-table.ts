/**
 * Error codes by vendor, from the vendors' error pages (November 2026): platform.openai.com and help.openai.com article
 * 5955604; learn.microsoft.com Azure OpenAI; platform.claude.com errors; ai.google.dev troubleshooting;
 * api-docs.deepseek.com; help.aliyun.com Model Studio; docs.bigmodel.cn; platform.moonshot.cn; cloud.baidu.com Qianfan;
 * volcengine.com Ark 82379/1299023. Codes are matched whole, in lower case.
 */
import type { UpstreamErrorRule, Vendor } from "./upstream-error";

const OPENAI: readonly UpstreamErrorRule[] = [
  // A restricted key on a route it does not have, which the caller chose.
  { message: /insufficient permissions for this operation/u, kind: "auth", tripsBreaker: false },
  { status: 429, code: /rate_limit_exceeded|rate_limit_error|slow_down/u, kind: "rate" },
  { code: /invalid_prompt/u, kind: "content" },
  { code: /unsupported_country_region_territory/u, kind: "auth" },
  { code: /data_residency_mismatch/u, kind: "gone" },
];

const AZURE: readonly UpstreamErrorRule[] = [
  // Filtered and over-long prompts are processed and billed although the status is 400 (Azure OpenAI, manage costs).
  { code: /content_filter|responsibleaipolicyviolation/u, kind: "content", mayHaveBilled: true },
  { code: /context_length_exceeded/u, kind: "context", mayHaveBilled: true },
  { code: /insufficientquota|quotaexceeded/u, kind: "money" },
  { status: 403, message: /out of call volume quota|quota/u, kind: "money" },
  { code: /toomanyrequests|ratelimitreached/u, kind: "rate" },
  { code: /deploymentnotfound|operationnotsupported/u, kind: "gone" },
  // A resource whose key is right but whose network rules are not.
  { code: /accessdenied|publicnetworkaccessdisabled/u, kind: "auth", tripsBreaker: false },
];

const ANTHROPIC: readonly UpstreamErrorRule[] = [
  { code: /enforced_spend_limit_reached/u, kind: "money" },
  // A limit the customer set answers 400 with an ordinary type; only the message tells.
  { status: 400, message: /^you have reached your specified (workspace )?api usage limits/u, kind: "money" },
  { status: 400, message: /credit balance is too low/u, kind: "money" },
  { code: /permission_error/u, kind: "auth", tripsBreaker: false },
  { code: /request_too_large/u, kind: "context" },
  { code: /rate_limit_error/u, kind: "rate" },
  { code: /timeout_error/u, kind: "server", mayHaveBilled: true },
  { code: /overloaded_error/u, kind: "overloaded" },
  { code: /api_error/u, kind: "server" },
];

const GEMINI: readonly UpstreamErrorRule[] = [
  { status: 402, kind: "money" },
  { code: /api_key_invalid|unauthenticated|api_key_service_blocked/u, kind: "auth" },
  { code: /permission_denied/u, kind: "auth", tripsBreaker: false },
  { code: /billing_disabled/u, kind: "money" },
  // The same status is given to files of a caller that are not ready.
  { code: /failed_precondition/u, message: /billing|free tier/u, kind: "money" },
  { code: /failed_precondition/u, kind: "invalid" },
  { code: /resource_exhausted/u, kind: "rate" },
  { status: 400, message: /input token count.*exceeds|exceeds the maximum number of tokens/u, kind: "context" },
  { code: /unavailable/u, kind: "overloaded" },
  { code: /deadline_exceeded/u, kind: "server", mayHaveBilled: true },
  { code: /internal/u, kind: "server" },
  { code: /invalid_argument|out_of_range/u, kind: "invalid" },
];

const DEEPSEEK: readonly UpstreamErrorRule[] = [
  { status: 402, kind: "money" },
  { message: /insufficient balance/u, kind: "money" },
  { status: 422, kind: "invalid" },
];

const DASHSCOPE: readonly UpstreamErrorRule[] = [
  { code: /arrearage|prepaidbilloverdue|postpaidbilloverdue|commoditynotpurchased/u, kind: "money" },
  // What is free is counted by model.
  { code: /allocationquota[.]freetieronly/u, kind: "money", isOfAccount: false },
  { message: /good standing|overdue/u, kind: "money" },
  // Here `insufficient_quota` behind a 429 is tokens per minute, not money.
  { status: 429, code: /insufficient_quota|limit_requests|limit_burst_rate|throttling([.].+)?/u, kind: "rate" },
  { code: /data_?inspection_?failed/u, kind: "content" },
  { message: /range of input length should be/u, kind: "context" },
  { code: /invalid_?api-?_?key/u, kind: "auth" },
  { code: /model_?not_?found/u, kind: "gone" },
  { code: /access_?denied([.].+)?|model[.]accessdenied/u, kind: "auth", tripsBreaker: false },
  { code: /requesttimeout|responsetimeout/u, kind: "server", mayHaveBilled: true },
  { code: /modelserviceunavailable|modelservingerror|serviceunavailable/u, kind: "overloaded" },
  { code: /internalerror([.].+)?|systemerror/u, kind: "server" },
];

const ZHIPU: readonly UpstreamErrorRule[] = [
  { code: /1113/u, kind: "money" },
  // Plans used up or run out: money that only a payment or a new plan period brings back.
  { code: /1308|1309|1310/u, kind: "money" },
  { code: /100[0-5]|1100|111[0-2]|1121/u, kind: "auth" },
  // Calls of a day used up: no pause of this call's helps.
  { code: /1304/u, kind: "money", isOfAccount: false },
  { code: /1302|1303|1313/u, kind: "rate" },
  { code: /1305|1312/u, kind: "overloaded" },
  { code: /1261/u, kind: "context" },
  { code: /1301/u, kind: "content" },
  { code: /1211|1212|122[0-2]|1311/u, kind: "gone" },
  { code: /121[03-5]|123[01]/u, kind: "invalid" },
  { code: /500|1120|1200|1234/u, kind: "server" },
];

const MOONSHOT: readonly UpstreamErrorRule[] = [
  { code: /exceeded_current_quota_error/u, kind: "money" },
  { code: /rate_limit_reached_error/u, kind: "rate" },
  { code: /engine_overloaded_error/u, kind: "overloaded" },
  { code: /content_filter/u, kind: "content" },
  { code: /invalid_authentication_error|incorrect_api_key_error/u, kind: "auth" },
  { code: /permission_denied_error/u, kind: "auth", tripsBreaker: false },
  { message: /exceeded model token limit/u, kind: "context" },
  { code: /server_error|unexpected_output/u, kind: "server" },
];

const QIANFAN: readonly UpstreamErrorRule[] = [
  { code: /billing_insufficient_balance/u, kind: "money" },
  { code: /quota_user_daily_free|17/u, kind: "money", isOfAccount: false },
  { code: /(.+_)?(rpm_|tpm_)?rate_limit_exceeded|4|18/u, kind: "rate" },
  { code: /characters_too_long|tokens_too_long/u, kind: "context" },
  { code: /(system|functions|user_setting)_unsafe/u, kind: "content" },
  { code: /invalid_iam_token|invalid_appid|110|111/u, kind: "auth" },
  { code: /no_parameter_permission/u, kind: "auth", tripsBreaker: false },
  { status: 401, code: /invalid_model/u, kind: "gone" },
  { code: /invalid_model|method_not_supported/u, kind: "gone" },
  { code: /malformed_json|invalid_messages|invalid_argument/u, kind: "invalid" },
  { code: /internal_error|dispatch_internal_error/u, kind: "server" },
];

const ARK: readonly UpstreamErrorRule[] = [
  { code: /accountoverdueerror|operationdenied[.]serviceoverdue|accountquotaexceeded/u, kind: "money" },
  // The limit that a customer set for one model.
  { code: /setlimitexceeded/u, kind: "money", isOfAccount: false },
  // One code for a trial or plan used up (money) and for a full queue (rate): only the message tells.
  { code: /quotaexceeded/u, message: /free trial quota/u, kind: "money", isOfAccount: false },
  { code: /quotaexceeded/u, message: /usage quota/u, kind: "money" },
  { code: /quotaexceeded|inflightbatchsizeexceeded/u, kind: "rate" },
  {
    code: /ratelimitexceeded([.].+)?|(modelaccount|apiaccount).*ratelimitexceeded|accountratelimitexceeded/u,
    kind: "rate",
  },
  { code: /requestbursttoofast/u, kind: "rate" },
  { code: /serveroverloaded/u, kind: "overloaded" },
  { code: /(input|output)(text|image|video|audio)(riskdetection|sensitivecontentdetected)([.].+)?/u, kind: "content" },
  { code: /sensitivecontentdetected([.].+)?|contentsecuritydetectionerror/u, kind: "content" },
  { code: /invalidendpointormodel([.].+)?|invalidendpoint([.].+)?|modelnotopen|unsupportedmodel/u, kind: "gone" },
  { code: /authenticationerror/u, kind: "auth" },
  { code: /(accessdenied|operationdenied)([.].+)?/u, kind: "auth", tripsBreaker: false },
  { code: /missingparameter([.].+)?|invalidparameter([.].+)?/u, kind: "invalid" },
  { code: /internalserviceerror/u, kind: "server" },
];

export const VENDOR_RULES: Readonly<Record<Vendor, readonly UpstreamErrorRule[]>> = {
  openai: OPENAI,
  azure: AZURE,
  anthropic: ANTHROPIC,
  gemini: GEMINI,
  deepseek: DEEPSEEK,
  dashscope: DASHSCOPE,
  zhipu: ZHIPU,
  moonshot: MOONSHOT,
  qianfan: QIANFAN,
  ark: ARK,
};
