"use client";
/** Decisions, outcomes and refusal codes in words. */
import { useTranslations } from "next-intl";
import type { RequestRow } from "@/lib/contracts/requests";
import { outcomeLabel } from "./outcome-label";

/** Text of an outcome of a settled call or of a refusal code; an unknown code is shown as it is. */
export function useOutcomeText(): (code: string) => string {
  const t = useTranslations("outcomes");
  return (code) => {
    const label = outcomeLabel(code);
    if (label === undefined) return code;
    return "scope" in label ? t(label.key, { scope: t(`scopes.${label.scope}`) }) : t(label.key);
  };
}

export type DecisionTone = "neutral" | "brand" | "good" | "warn" | "danger";

const DECISION_TONES: Readonly<Record<RequestRow["decision"], DecisionTone>> = {
  pass: "neutral",
  downgrade: "warn",
  cache: "good",
  static: "warn",
  deferred: "brand",
  replayed: "good",
  refused: "danger",
};

export function decisionTone(decision: RequestRow["decision"]): DecisionTone {
  return DECISION_TONES[decision];
}

export function useDecisionText(): (decision: RequestRow["decision"]) => string {
  const t = useTranslations("decisions");
  return (decision) => t(decision);
}
