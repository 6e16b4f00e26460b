/** What refusals say to people, in the caller's language. Amounts are shown in the organisation's currency. */
import type { BudgetFacts, Denial, DenialCode } from "@/lib/domain/denial";
import { formatNanos } from "@/lib/domain/money";

export type Language = "en" | "zh-CN";

/** Chinese where the caller's first preference is Chinese, else the organisation's language once it is known. */
export function languageOf(acceptLanguage: string | null): Language {
  return acceptLanguage !== null && /^\s*zh\b/iu.test(acceptLanguage) ? "zh-CN" : "en";
}

const SCOPE_NAMES: Readonly<Record<Language, Readonly<Record<BudgetFacts["scope"], string>>>> = {
  en: {
    organization: "organization",
    department: "department",
    team: "team",
    app: "app",
    user: "user",
    key: "API key",
    session: "session",
  },
  "zh-CN": {
    organization: "企业",
    department: "部门",
    team: "团队",
    app: "应用",
    user: "用户",
    key: "API 密钥",
    session: "会话",
  },
};
const PERIOD_NAMES: Readonly<Record<Language, Readonly<Record<string, string>>>> = {
  en: { day: "daily", week: "weekly", month: "monthly", quarter: "quarterly", year: "yearly" },
  "zh-CN": { day: "每日", week: "每周", month: "每月", quarter: "每季度", year: "每年" },
};

function amountText(facts: BudgetFacts, amount: bigint, language: Language): string {
  if (facts.meter === "cost") return formatNanos(amount, { currency: facts.currency, locale: language });
  const unit =
    facts.meter === "requests" ? { en: "requests", "zh-CN": "次请求" } : { en: "tokens", "zh-CN": "个 token" };
  return `${amount.toLocaleString(language)} ${unit[language]}`;
}

function budgetText(facts: BudgetFacts, language: Language): string {
  const scope = SCOPE_NAMES[language][facts.scope];
  const period = PERIOD_NAMES[language][facts.periodKind] ?? facts.periodKind;
  const limit = amountText(facts, facts.limit, language);
  const used = amountText(facts, facts.used + facts.held, language);
  if (facts.resetsAtMs === null) {
    return language === "en"
      ? `The ${scope} "${facts.consumerName}" may use ${limit} in all and has no room for this call: ${used} are used or held.`
      : `${scope}“${facts.consumerName}”的总额度（${limit}）已不足以支持本次调用：已用或占用 ${used}。`;
  }
  const resets = new Date(facts.resetsAtMs).toISOString();
  return language === "en"
    ? `The ${period} budget of the ${scope} "${facts.consumerName}" (${limit}) has no room for this call: ${used} are used or held. It resets at ${resets}.`
    : `${scope}“${facts.consumerName}”的${period}预算（${limit}）已不足以支持本次调用：已用或占用 ${used}。将于 ${resets} 重置。`;
}

const PLAIN: Readonly<Record<DenialCode, Readonly<Record<Language, string>>>> = {
  invalid_api_key: {
    en: "No valid API key or token was given. Send it as `Authorization: Bearer <key>`.",
    "zh-CN": "缺少有效的 API 密钥或令牌。请以 `Authorization: Bearer <密钥>` 发送。",
  },
  model_not_allowed: { en: "This key may not use the model.", "zh-CN": "此密钥无权使用该模型。" },
  model_not_found: { en: "The model does not exist or serves no such route.", "zh-CN": "该模型不存在或不支持此接口。" },
  environment_forbidden: {
    en: "A test key may not reach this model.",
    "zh-CN": "测试密钥不能访问该模型。",
  },
  consumer_forbidden: { en: "This key may not act for that consumer.", "zh-CN": "此密钥无权代表该消费方。" },
  consumer_frozen: { en: "This consumer or key is frozen.", "zh-CN": "该消费方或密钥已被冻结。" },
  budget_exhausted: { en: "A budget has no room for this call.", "zh-CN": "预算不足以支持本次调用。" },
  provider_budget_exhausted: {
    en: "No deployment can serve this call now: what may be spent at the model's provider is used up. Your own budget is not the reason.",
    "zh-CN": "暂无可用部署：该模型服务商的可用额度已用尽，与您自己的预算无关。",
  },
  protected_rung: {
    en: "The budget is almost used up; what is left is kept for core business. Try again later.",
    "zh-CN": "预算即将用尽，剩余额度仅保留给核心业务，请稍后重试。",
  },
  rate_limit_exceeded: {
    en: "Too many requests or tokens in a short time. Slow down.",
    "zh-CN": "短时间内请求或 token 过多，请降低频率。",
  },
  concurrency_limit_exceeded: {
    en: "Too many calls at once. Wait for one to end.",
    "zh-CN": "并发调用过多，请等待其中一个结束。",
  },
  max_cost_exceeded: {
    en: "This call could cost more than it may.",
    "zh-CN": "本次调用可能超出其单次费用上限。",
  },
  price_missing: {
    en: "The model has no price, so its cost cannot be held.",
    "zh-CN": "该模型没有价格，无法预留费用。",
  },
  deferred_running: {
    en: "The deferred call is running and cannot be cancelled any more.",
    "zh-CN": "该延后调用正在执行，无法再取消。",
  },
  object_not_found: { en: "You have no such file, batch or response.", "zh-CN": "您没有这个文件、批处理任务或响应。" },
  batch_not_settled: {
    en: "What this batch cost is not booked yet, and its files say it. Try again shortly.",
    "zh-CN": "该批处理任务的费用尚未入账，仍需其文件，请稍后重试。",
  },
  response_not_settled: {
    en: "What this response cost is not booked yet, and it says it. Cancel it if it runs, and try again shortly.",
    "zh-CN": "该响应的费用尚未入账。如仍在运行请先取消，稍后重试。",
  },
  idempotency_mismatch: {
    en: "This Idempotency-Key was used for another request. Use a new key for each request.",
    "zh-CN": "该 Idempotency-Key 已用于另一请求，请为每个请求使用新的键。",
  },
  idempotency_in_progress: {
    en: "The call with this Idempotency-Key is still running. Ask again to get its answer.",
    "zh-CN": "使用该 Idempotency-Key 的调用仍在进行，请稍后再次请求以获取结果。",
  },
  idempotency_not_kept: {
    en: "The call with this Idempotency-Key was served and its answer was not kept. It is not run again; use a new key to pay for another answer.",
    "zh-CN": "使用该 Idempotency-Key 的调用已完成，但结果未被保存。不会再次执行；如需重新调用并付费，请使用新的键。",
  },
  invalid_request: { en: "The request is not valid.", "zh-CN": "请求无效。" },
  request_too_large: { en: "The body is too large.", "zh-CN": "请求体过大。" },
  not_found: { en: "There is no such route.", "zh-CN": "没有这个接口。" },
  method_not_allowed: { en: "This route does not take that method.", "zh-CN": "该接口不支持此方法。" },
  identity_provider_unavailable: {
    en: "The identity provider of this token cannot be asked right now. Try again shortly.",
    "zh-CN": "暂时无法向该令牌的身份提供方核验，请稍后重试。",
  },
  quota_store_unavailable: {
    en: "Budgets cannot be checked right now. Try again shortly.",
    "zh-CN": "暂时无法核对预算，请稍后重试。",
  },
};

export function denialMessage(refusal: Denial, language: Language): string {
  const base = PLAIN[refusal.code][language];
  if (refusal.code === "budget_exhausted" && refusal.budget) return budgetText(refusal.budget, language);
  return refusal.detail === undefined ? base : `${base} (${refusal.detail})`;
}

const SUGGESTIONS: Readonly<Partial<Record<DenialCode, Readonly<Record<Language, string>>>>> = {
  budget_exhausted: {
    en: "Ask for a top-up, or wait for the reset. Answer your users from a cache or a fixed text meanwhile.",
    "zh-CN": "请申请追加预算或等待重置，期间可用缓存或固定文案答复用户。",
  },
  protected_rung: {
    en: "Put work that can wait into a queue, or answer from a cache.",
    "zh-CN": "请将可延后的任务放入队列，或用缓存答复。",
  },
};

export function sessionAdvice(language: Language): string {
  return language === "en"
    ? "End this run, or go on in a session of its own once somebody has looked at it."
    : "请结束本次运行，或在人工确认后以新的会话继续。";
}

export function suggestion(code: DenialCode, language: Language): string | undefined {
  return SUGGESTIONS[code]?.[language];
}
