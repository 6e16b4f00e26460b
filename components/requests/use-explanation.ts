"use client";
/** Why a call was served, downgraded or refused, in sentences. */
import { useLocale, useTranslations } from "next-intl";
import { useBudgetWords } from "@/components/budgets/use-budget-words";
import { moneyWithCode, percentText } from "@/components/format/money";
import type { DecisionExplanation, RequestAttempt, RequestDetail } from "@/lib/contracts/requests";
import { useOutcomeText } from "./use-request-words";

export interface Explain {
  readonly ofAttempt: (attempt: RequestAttempt, detail: RequestDetail) => readonly string[];
  readonly ofRefusal: (refusal: NonNullable<RequestDetail["refusal"]>, detail: RequestDetail) => readonly string[];
}

export function useExplanation(): Explain {
  const t = useTranslations("explain");
  const locale = useLocale();
  const words = useBudgetWords();
  const outcomeText = useOutcomeText();

  /** "because …": the budget and rung behind the decision, as far as the gateway wrote them down. */
  function because(explanation: DecisionExplanation | null, rungBasisPoints: number): string | undefined {
    const at = explanation?.rungBasisPoints ?? rungBasisPoints;
    const rung = explanation?.rungName == null ? percentText(at, locale) : words.rungName(explanation.rungName);
    const name = explanation?.consumerName ?? explanation?.budgetName;
    if (name == null) return at > 0 ? t("becauseRung", { rung, at: percentText(at, locale) }) : undefined;
    if (explanation?.ratioBasisPoints == null && explanation?.rungName == null) {
      return at > 0 ? t("becausePassed", { name, at: percentText(at, locale) }) : t("becausePlain", { name });
    }
    if (explanation.ratioBasisPoints == null) return t("becauseBudget", { name, rung, at: percentText(at, locale) });
    return t("becauseRatio", {
      name,
      ratio: percentText(explanation.ratioBasisPoints, locale),
      rung,
      at: percentText(at, locale),
    });
  }

  return {
    ofAttempt: (attempt, detail) => {
      const asked = detail.modelRequested ?? attempt.modelServed;
      const first =
        attempt.decision === "downgrade" || asked !== attempt.modelServed
          ? t("downgraded", { asked, served: attempt.modelServed })
          : t(attempt.decision === "cache" ? "cached" : attempt.decision === "static" ? "staticText" : "passed", {
              model: asked,
            });
      const saved =
        attempt.savedAmount === "0"
          ? undefined
          : t("saved", { amount: moneyWithCode(attempt.savedAmount, detail.organisation.currency, locale) });
      const ended = attempt.outcome === "ok" ? undefined : t("ended", { outcome: outcomeText(attempt.outcome) });
      const overflow = attempt.isOverflow ? t("overflow") : undefined;
      return [first, because(attempt.explanation, attempt.rungBasisPoints), saved, overflow, ended].filter(
        (sentence) => sentence !== undefined,
      );
    },
    ofRefusal: (refusal, detail) => {
      const { currency } = detail.organisation;
      const amounts =
        refusal.limitAmount === null || refusal.usedAmount === null
          ? undefined
          : t("refusedAmounts", {
              used: moneyWithCode(refusal.usedAmount, currency, locale),
              limit: moneyWithCode(refusal.limitAmount, currency, locale),
            });
      return [
        t("refused", { reason: outcomeText(refusal.code), model: detail.modelRequested ?? "–" }),
        because(refusal.explanation, refusal.explanation?.rungBasisPoints ?? 0),
        amounts,
        t("noMoney"),
      ].filter((sentence) => sentence !== undefined);
    },
  };
}
