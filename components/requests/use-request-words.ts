"use client";
/** Decisions, outcomes and refusal codes in words. */
import { useTranslations } from "next-intl";
import type { RequestRow } from "@/lib/contracts/requests";
import { OUTCOMES } from "@/lib/domain/usage-event";

const CODES = [
  "invalid_api_key",
  "model_not_allowed",
  "model_not_found",
  "environment_forbidden",
  "consumer_forbidden",
  "consumer_frozen",
  "budget_exhausted",
  "PROTECTED_RUNG",
  "rate_limit_exceeded",
  "concurrency_limit_exceeded",
  "content_blocked",
  "price_missing",
  "invalid_request",
  "request_too_large",
  "quota_store_unavailable",
  "upstream_error",
  "upstream_timeout",
] as const;
const SCOPED = /^(ORGANIZATION|DEPARTMENT|TEAM|APP|USER|KEY)_(BUDGET|QUOTA)_EXHAUSTED$/u;

/** Text of an outcome of a settled call or of a refusal code; an unknown code is shown as it is. */
export function useOutcomeText(): (code: string) => string {
  const t = useTranslations("outcomes");
  return (code) => {
    const scoped = SCOPED.exec(code);
    if (scoped !== null) {
      return t(scoped[2] === "BUDGET" ? "budgetGone" : "quotaGone", { scope: t(`scopes.${scoped[1] as "APP"}`) });
    }
    const outcome = OUTCOMES.find((one) => one === code);
    if (outcome !== undefined) return t(`settled.${outcome}`);
    const known = CODES.find((one) => one.toLowerCase() === code.toLowerCase());
    return known === undefined ? code : t(`codes.${known}`);
  };
}

export type DecisionTone = "neutral" | "brand" | "good" | "warn" | "danger";

const DECISION_TONES: Readonly<Record<RequestRow["decision"], DecisionTone>> = {
  pass: "neutral",
  downgrade: "warn",
  cache: "good",
  static: "warn",
  deferred: "brand",
  refused: "danger",
};

export function decisionTone(decision: RequestRow["decision"]): DecisionTone {
  return DECISION_TONES[decision];
}

export function useDecisionText(): (decision: RequestRow["decision"]) => string {
  const t = useTranslations("decisions");
  return (decision) => t(decision);
}
