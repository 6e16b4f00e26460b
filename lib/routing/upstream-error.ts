/**
 * What an error answer of a model vendor means. A status alone does not say: vendors put empty accounts behind 400, 403 and
 * 429, and the same word means money with one vendor and tokens per minute with another. So the table is read by vendor,
 * status and code, first match wins, and the vendor's rows come before those that hold for all.
 */
import { VENDOR_RULES } from "./upstream-error-table";

export const UPSTREAM_ERROR_KINDS = [
  "rate",
  "money",
  "auth",
  "invalid",
  "context",
  "content",
  "gone",
  "overloaded",
  "server",
  "unknown",
] as const;
/** `gone`: the deployment names a model, endpoint or path the vendor does not know. */
export type UpstreamErrorKind = (typeof UPSTREAM_ERROR_KINDS)[number];

export interface UpstreamErrorClass {
  readonly kind: UpstreamErrorKind;
  /** Whether the same deployment may be asked again after a pause. */
  readonly isRetryable: boolean;
  /** Whether another deployment of the same model may well serve the call. */
  readonly mayTryOther: boolean;
  /** Whether the deployment counts as failing. */
  readonly tripsBreaker: boolean;
  /** Whether it is proof against the whole account: no money, or a refused key. */
  readonly isOfAccount: boolean;
  /** Whether the vendor may charge for the call nevertheless: then the hold is not given back unseen. */
  readonly mayHaveBilled: boolean;
}

/** Provider kinds with rows of their own; any other kind is read by the rows for all. */
export type Vendor =
  "openai" | "azure" | "anthropic" | "gemini" | "deepseek" | "dashscope" | "zhipu" | "moonshot" | "qianfan" | "ark";

export interface UpstreamErrorRule {
  /** One status, or undefined for any. */
  readonly status?: number;
  /** Matched against each code of the answer in lower case, whole. */
  readonly code?: RegExp;
  /** Only where a vendor gives no code for it. Matched against the message in lower case. */
  readonly message?: RegExp;
  readonly kind: UpstreamErrorKind;
  readonly mayHaveBilled?: boolean;
  /** False where a caller's request can bring the answer about: one caller may not shut a deployment for the others. */
  readonly tripsBreaker?: false;
  /** False where an allowance of one model is used up, and the account's other models go on. */
  readonly isOfAccount?: false;
}

/** The parts of an error answer that classify it. */
export interface UpstreamErrorFacts {
  readonly status: number;
  /** Every code, type and reason of the answer, lower case. */
  readonly codes: readonly string[];
  readonly message: string;
}

type Consequences = Omit<UpstreamErrorClass, "kind" | "mayHaveBilled">;

const CONSEQUENCES: Readonly<Record<UpstreamErrorKind, Consequences>> = {
  rate: { isRetryable: true, mayTryOther: true, tripsBreaker: false, isOfAccount: false },
  // Waiting brings no money and no right key: the deployment drops out until its breaker tries again.
  money: { isRetryable: false, mayTryOther: true, tripsBreaker: true, isOfAccount: true },
  auth: { isRetryable: false, mayTryOther: true, tripsBreaker: true, isOfAccount: true },
  invalid: { isRetryable: false, mayTryOther: false, tripsBreaker: false, isOfAccount: false },
  context: { isRetryable: false, mayTryOther: false, tripsBreaker: false, isOfAccount: false },
  content: { isRetryable: false, mayTryOther: false, tripsBreaker: false, isOfAccount: false },
  gone: { isRetryable: false, mayTryOther: true, tripsBreaker: false, isOfAccount: false },
  overloaded: { isRetryable: true, mayTryOther: true, tripsBreaker: true, isOfAccount: false },
  server: { isRetryable: true, mayTryOther: true, tripsBreaker: true, isOfAccount: false },
  unknown: { isRetryable: false, mayTryOther: false, tripsBreaker: false, isOfAccount: false },
};

/** Statuses that say the vendor gave up on work it had begun. */
const GAVE_UP = new Set([408, 504, 524]);

/** Behind status 200, what these name was not begun either. */
const NEVER_BEGUN: ReadonlySet<UpstreamErrorKind> = new Set(["rate", "money", "auth", "gone", "invalid", "context"]);

/** Of vendors who have no code for it; where a caller's own text is not repeated. */
const NO_MONEY =
  /insufficient (account )?(balance|credits?|funds)|balance is insufficient|(ran|run) out of credits|all available credits|余额不足|欠费/u;

/** Rows for all vendors: what the OpenAI-compatible world agrees on. */
const COMMON_RULES: readonly UpstreamErrorRule[] = [
  { code: /insufficient_quota|insufficient_balance|billing_error|credit_balance_exhausted/u, kind: "money" },
  {
    code: /(organization|project)_(spend|usage)_limit_exceeded|billing_hard_limit_reached|billing_not_active/u,
    kind: "money",
  },
  { status: 402, kind: "money" },
  { status: 403, message: NO_MONEY, kind: "money" },
  { status: 429, message: NO_MONEY, kind: "money" },
  { code: /context_length_exceeded|string_above_max_length|model_context_window_exceeded/u, kind: "context" },
  { message: /maximum context length|context window|prompt is too long/u, status: 400, kind: "context" },
  { code: /content_filter|content_policy_violation|moderation_blocked|data_inspection_failed/u, kind: "content" },
  { code: /model_not_found|deployment_?not_?found/u, kind: "gone" },
  { code: /invalid_api_key|authentication_error|account_deactivated/u, kind: "auth" },
  { code: /server_is_overloaded|overloaded_error|engine_overloaded(_error)?/u, kind: "overloaded" },
  { status: 401, kind: "auth" },
  // The key is known but may not do what was asked, which is the caller's choice as well as the company's.
  { status: 403, kind: "auth", tripsBreaker: false },
  // A model is named by us, a file or an earlier response by the caller.
  { status: 404, message: /model|deployment|endpoint/u, kind: "gone" },
  { status: 404, kind: "invalid" },
  { status: 405, kind: "gone" },
  { status: 408, kind: "server" },
  { status: 409, kind: "server" },
  { status: 413, kind: "context" },
  { status: 429, kind: "rate" },
  { status: 503, kind: "overloaded" },
  { status: 529, kind: "overloaded" },
  { status: 200, code: /invalid_request_error|invalid_?parameter|badrequest/u, kind: "invalid" },
];

function matches(rule: UpstreamErrorRule, facts: UpstreamErrorFacts): boolean {
  if (rule.status !== undefined && rule.status !== facts.status) return false;
  const { code, message } = rule;
  if (code && !facts.codes.some((text) => code.exec(text)?.[0] === text)) return false;
  return !message || message.test(facts.message);
}

function kindByStatusClass(status: number): UpstreamErrorKind {
  if (status >= 500) return "server";
  if (status >= 400) return "invalid";
  // What was asked for is elsewhere, and where we know nothing of.
  return status >= 300 ? "gone" : "unknown";
}

function isVendor(kind: string): kind is Vendor {
  return Object.hasOwn(VENDOR_RULES, kind);
}

/** What the answer means. `providerKind` is the kind of the provider row; total for any input. */
export function classifyUpstreamError(providerKind: string, facts: UpstreamErrorFacts): UpstreamErrorClass {
  const rules = [...(isVendor(providerKind) ? VENDOR_RULES[providerKind] : []), ...COMMON_RULES];
  const rule = rules.find((candidate) => matches(candidate, facts));
  const kind = rule?.kind ?? kindByStatusClass(facts.status);
  const wasBegun = GAVE_UP.has(facts.status) || (facts.status < 400 && !NEVER_BEGUN.has(kind));
  const tripsBreaker = rule?.tripsBreaker ?? CONSEQUENCES[kind].tripsBreaker;
  return {
    kind,
    ...CONSEQUENCES[kind],
    isOfAccount: tripsBreaker && (rule?.isOfAccount ?? CONSEQUENCES[kind].isOfAccount),
    tripsBreaker,
    mayHaveBilled: rule?.mayHaveBilled ?? wasBegun,
  };
}

/** A connection that failed or an answer that never came, in the words of ports.UpstreamFailure. */
export function classifyTransportFailure(reach: "unserved" | "unknown"): UpstreamErrorClass {
  return { kind: "server", ...CONSEQUENCES.server, mayHaveBilled: reach === "unknown" };
}

const MAX_CODES = 12;
const MAX_MESSAGE_LENGTH = 2000;

function objectOf(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : undefined;
}

/** Codes stand under these names; nested errors and Google's `details` are looked into one level at a time. */
const CODE_NAMES = ["code", "type", "status", "reason", "error_code", "errorCode"] as const;
const NESTED_NAMES = ["error", "innererror", "inner_error", "details"] as const;

function collect(value: unknown, codes: string[], depth: number): void {
  if (depth > 3 || codes.length >= MAX_CODES) return;
  if (Array.isArray(value)) {
    for (const item of value.slice(0, 5)) collect(item, codes, depth + 1);
    return;
  }
  const object = objectOf(value);
  if (!object) return;
  for (const name of CODE_NAMES) {
    const code = object[name];
    if (typeof code === "string" || typeof code === "number") codes.push(String(code).toLowerCase().slice(0, 120));
  }
  for (const name of NESTED_NAMES) collect(object[name], codes, depth + 1);
}

function messageOf(body: unknown): string {
  const object = objectOf(Array.isArray(body) ? body[0] : body);
  const error = objectOf(object?.error);
  const message = error?.message ?? object?.message ?? object?.error_msg ?? object?.error;
  return typeof message === "string" ? message.toLowerCase().slice(0, MAX_MESSAGE_LENGTH) : "";
}

/** Reads the facts out of an error body of any vendor's shape; a body that is no JSON has no codes. Never throws. */
export function readUpstreamError(status: number, bodyText: string): UpstreamErrorFacts {
  let body: unknown;
  try {
    body = JSON.parse(bodyText);
  } catch {
    return { status, codes: [], message: bodyText.toLowerCase().slice(0, MAX_MESSAGE_LENGTH) };
  }
  const codes: string[] = [];
  collect(body, codes, 0);
  return { status, codes, message: messageOf(body) };
}

/** Whether an answer of status 200 is an error after all: some vendors put only a code into the body. */
export function isErrorInDisguise(body: unknown): boolean {
  const object = objectOf(body);
  if (!object || "choices" in object || "data" in object || "output" in object) return false;
  const code = object.error_code ?? object.code;
  return objectOf(object.error) !== undefined || (code !== undefined && code !== null && code !== 0 && code !== "");
}
