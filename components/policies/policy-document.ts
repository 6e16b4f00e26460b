/** From the policy form back to a document. What the form has no field for stays as the base document says it. Pure. */
import { issuesByPath } from "@/components/format/checked";
import { toLadders } from "@/components/ladders/ladder-draft";
import { perToken } from "@/components/prices/rate-text";
import { MoneyError, parseDecimalToNanos } from "@/lib/domain/money";
import { policyDocumentSchema } from "@/lib/domain/policy";
import type { PolicyDocument } from "@/lib/domain/policy";
import type { DowngradePair, PolicyDraft } from "./policy-draft";

export type CheckedPolicy =
  | { readonly ok: true; readonly document: PolicyDocument }
  | { readonly ok: false; readonly errors: Readonly<Record<string, string>> };

type Errors = Record<string, string>;

/** Where the document's paths are in the form; a list's entries belong to the list. */
const FIELDS: readonly (readonly [RegExp, keyof PolicyDraft])[] = [
  [/^outputCapTokens/u, "outputCapTokens"],
  [/^reserve\.sliceTokens/u, "sliceTokens"],
  [/^reserve\.marginTokens/u, "marginTokens"],
  [/^session\.costNanos/u, "sessionCost"],
  [/^session\.requests/u, "sessionRequests"],
  [/^session\.idleSeconds/u, "sessionIdle"],
  [/^answerKeepSeconds/u, "answerKeepSeconds"],
  [/^retryWindowSeconds/u, "retryWindowSeconds"],
  [/^deferral\.deadlineSeconds/u, "deadlineSeconds"],
  [/^deferral\.keepSeconds/u, "keepSeconds"],
  [/^fallbackPrice\.currency/u, "fallbackCurrency"],
  [/^fallbackPrice/u, "fallbackInput"],
  [/^models\.allow/u, "allow"],
  [/^models\.deny/u, "deny"],
  [/^regions/u, "regions"],
  [/^downgrade/u, "downgrade"],
  [/^fallbacks/u, "fallbacks"],
  [/^staticText\.en/u, "staticEn"],
  [/^staticText/u, "staticZh"],
];

/** Codes of the contract that have words of their own; what zod says of sizes and kinds has none. */
function codeOf(field: keyof PolicyDraft, message: string): string {
  if (/^[a-z]+(?:_[a-z]+)+$/u.test(message)) return message;
  if (field === "marginTokens" && message.includes("half")) return "margin_above_half";
  if (field === "sessionCost") return "session_empty";
  return /Tokens|Seconds|Requests|Idle/u.test(field) ? "number_out_of_range" : "invalid";
}

function linesOf(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

function number(text: string, field: keyof PolicyDraft, errors: Errors): number | undefined {
  const plain = text.trim().replaceAll(/(?<=\d),(?=\d{3}(?:\D|$))/gu, "");
  if (plain === "") return undefined;
  if (/^\d{1,12}$/u.test(plain)) return Number(plain);
  errors[field] = "number_malformed";
  return undefined;
}

/** "asked -> served", one a line. */
function pairsOf(text: string, field: keyof PolicyDraft, errors: Errors): Map<string, string> {
  const pairs = new Map<string, string>();
  for (const line of linesOf(text)) {
    const match = /^(.+?)\s*(?:->|→)\s*(.+)$/u.exec(line);
    if (match === null || pairs.has(match[1] ?? "")) errors[field] = "pair_malformed";
    else pairs.set(match[1] ?? "", match[2] ?? "");
  }
  return pairs;
}

/** Rows that are wholly empty are none. */
function downgradeOf(pairs: readonly DowngradePair[], errors: Errors): Map<string, string> {
  const map = new Map<string, string>();
  for (const [index, pair] of pairs.entries()) {
    const [asked, served] = [pair.asked.trim(), pair.served.trim()];
    if (asked === "" && served === "") continue;
    if (asked === "" || served === "") errors[`downgrade/${String(index)}`] = "required";
    else if (map.has(asked)) errors[`downgrade/${String(index)}`] = "value_twice";
    else map.set(asked, served);
  }
  return map;
}

function nanosOf(text: string, errors: Errors): string | undefined {
  if (text.trim() === "") return undefined;
  try {
    return parseDecimalToNanos(text.trim().replaceAll(/(?<=\d),(?=\d{3}(?:\D|$))/gu, ""), "halfEven").toString();
  } catch (error) {
    if (!(error instanceof MoneyError)) throw error;
    errors["sessionCost"] = "amount_malformed";
    return undefined;
  }
}

/** An object without what is not said; undefined where nothing is. */
function said(values: Readonly<Record<string, unknown>>): Record<string, unknown> | undefined {
  const kept = Object.entries(values).filter(([, value]) => value !== undefined);
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

/** "gpt-* [offline, marketing]": of those classes only. */
function modelsOf(text: string): unknown[] | undefined {
  return listOf(text)?.map((line) => {
    const match = /^(.+?)\s+\[([^\]]*)\]$/u.exec(line);
    if (match === null) return line;
    const classes = (match[2] ?? "").split(/[,，]/u).map((name) => name.trim());
    return { pattern: match[1] ?? "", classes: classes.filter((name) => name !== "") };
  });
}

function listOf(text: string): string[] | undefined {
  const lines = linesOf(text);
  return lines.length === 0 ? undefined : lines;
}

function sessionOf(draft: PolicyDraft, errors: Errors): Record<string, unknown> | undefined {
  const session = said({
    costNanos: nanosOf(draft.sessionCost, errors),
    requests: number(draft.sessionRequests, "sessionRequests", errors),
    idleSeconds: number(draft.sessionIdle, "sessionIdle", errors),
    isRequired: draft.sessionRequired ? true : undefined,
  });
  return session;
}

function fallbackPriceOf(draft: PolicyDraft, base: PolicyDocument, errors: Errors): unknown {
  if (!draft.hasFallbackPrice) return undefined;
  const rate = (text: string, field: keyof PolicyDraft): string | undefined => {
    if (text.trim() === "") return undefined;
    const token = perToken(text.trim());
    if (token === undefined) errors[field] = "amount_malformed";
    return token;
  };
  const typed = {
    inputPerToken: rate(draft.fallbackInput, "fallbackInput"),
    outputPerToken: rate(draft.fallbackOutput, "fallbackOutput"),
  };
  const rates = said({ ...base.fallbackPrice?.rates, ...typed }) ?? {};
  return { currency: draft.fallbackCurrency.trim().toUpperCase(), rates };
}

function deferralOf(draft: PolicyDraft, base: PolicyDocument, errors: Errors): unknown {
  if (!draft.defers) return undefined;
  const { deadlineSeconds: _deadline, keepSeconds: _keep, ...others } = base.deferral ?? {};
  return {
    ...others,
    ...said({
      deadlineSeconds: number(draft.deadlineSeconds, "deadlineSeconds", errors),
      keepSeconds: number(draft.keepSeconds, "keepSeconds", errors),
    }),
  };
}

function reserveOf(draft: PolicyDraft, errors: Errors): unknown {
  if (draft.reserveMode === "") return undefined;
  return said({
    mode: draft.reserveMode,
    sliceTokens: number(draft.sliceTokens, "sliceTokens", errors),
    marginTokens: number(draft.marginTokens, "marginTokens", errors),
  });
}

/** The document that the form says, on top of `base`; or what is wrong with which field. */
export function toDocument(draft: PolicyDraft, base: PolicyDocument): CheckedPolicy {
  const errors: Errors = {};
  const downgrade = downgradeOf(draft.downgrade, errors);
  const { ladders, errors: ladderErrors } = toLadders(draft.ladders);
  Object.assign(errors, ladderErrors);
  const fallbacks = pairsOf(draft.fallbacks, "fallbacks", errors);
  const { en: _en, "zh-CN": _zh, ...otherTexts } = base.staticText ?? {};
  const text = (value: string): string | undefined => (value.trim() === "" ? undefined : value);
  const values = said({
    ...base,
    models: said({ allow: modelsOf(draft.allow), deny: modelsOf(draft.deny) }),
    regions: listOf(draft.regions),
    ladders: said(ladders),
    downgrade: downgrade.size === 0 ? undefined : Object.fromEntries(downgrade),
    fallbacks:
      fallbacks.size === 0
        ? undefined
        : Object.fromEntries([...fallbacks].map(([asked, served]) => [asked, served.split(/\s*[,，]\s*/u)])),
    outputCapTokens: number(draft.outputCapTokens, "outputCapTokens", errors),
    reserve: reserveOf(draft, errors),
    session: sessionOf(draft, errors),
    clientGone: draft.clientGone === "" ? undefined : draft.clientGone,
    unknownOutcome: draft.unknownOutcome === "" ? undefined : draft.unknownOutcome,
    staticText: said({ ...otherTexts, en: text(draft.staticEn), "zh-CN": text(draft.staticZh) }),
    fallbackPrice: fallbackPriceOf(draft, base, errors),
    answerKeepSeconds: number(draft.answerKeepSeconds, "answerKeepSeconds", errors),
    retryWindowSeconds: number(draft.retryWindowSeconds, "retryWindowSeconds", errors),
    deferral: deferralOf(draft, base, errors),
  });
  const parsed = policyDocumentSchema.safeParse(values ?? {});
  if (!parsed.success) {
    for (const [path, message] of Object.entries(issuesByPath(parsed.error.issues))) {
      const field = FIELDS.find(([pattern]) => pattern.test(path))?.[1];
      if (field === undefined) errors["document"] ??= message;
      else errors[field] ??= codeOf(field, message);
    }
  }
  return parsed.success && Object.keys(errors).length === 0
    ? { ok: true, document: parsed.data }
    : { ok: false, errors };
}
