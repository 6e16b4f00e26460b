"use client";
/** Why a call was served, downgraded or refused, in sentences. */
import { useLocale, useTranslations } from "next-intl";
import { useBudgetWords } from "@/components/budgets/use-budget-words";
import { amountOfMeter, moneyWithCode, percentText } from "@/components/format/money";
import { dateTimeText } from "@/components/format/time";
import { decisionOfCode } from "@/lib/contracts/requests";
import type { DecisionExplanation, RequestAttempt, RequestDetail, RequestRefusal } from "@/lib/contracts/requests";
import { formatNanos } from "@/lib/domain/money";
import { METERS } from "@/lib/domain/snapshot";
import { useOutcomeText } from "./use-request-words";

export interface Explain {
  readonly ofAttempt: (attempt: RequestAttempt, detail: RequestDetail) => readonly string[];
  readonly ofRefusal: (refusal: RequestRefusal, detail: RequestDetail) => readonly string[];
}

/** Kinds of upstream errors, as the books name them. */
const FAILURES = [
  ...(["rate", "money", "auth", "invalid", "context", "content", "gone"] as const),
  ...(["overloaded", "server", "unknown"] as const),
] as const;

type Explanation = DecisionExplanation | null;

/** Ten units of the currency. */
const SMALL_LIMIT_NANOS = 10_000_000_000n;

/** What the budget behind a decision was and how it stood, as far as the gateway wrote it down. */
function useBecause(): (explanation: Explanation, rungBasisPoints: number, isRefusal: boolean) => string | undefined {
  const t = useTranslations("explain");
  const locale = useLocale();
  const words = useBudgetWords();
  const percent = (basisPoints: number): string => percentText(basisPoints, locale);
  return (explanation, rungBasisPoints, isRefusal) => {
    const atBasisPoints = explanation?.rungBasisPoints ?? rungBasisPoints;
    const at = percent(atBasisPoints);
    const rung = explanation?.rungName == null ? at : words.rungName(explanation.rungName);
    const name = explanation?.consumerName ?? explanation?.budgetName;
    if (explanation === null || name == null) return atBasisPoints > 0 ? t("becauseRung", { rung, at }) : undefined;
    if (explanation.limitAmount === "0") return t("becauseZero", { name });
    if (explanation.ratioBasisPoints === null) return t("becausePlain", { name });
    const ratio = percent(explanation.ratioBasisPoints);
    if (isRefusal && explanation.rungBasisPoints === null) return t("becauseLimit", { name, ratio });
    if (atBasisPoints === 0) return t("becauseNone", { name, ratio });
    if (explanation.ladder === null) return t("becauseRatio", { name, ratio, rung, at });
    return t("becauseLadder", { name, ratio, rung, at, ladder: words.ladderName(explanation.ladder) });
  };
}

/** Spent, held and limit of that budget before the call, in its own unit. */
function useStanding(): (explanation: Explanation, currency: string) => string | undefined {
  const t = useTranslations("explain");
  const b = useTranslations("budgets");
  const locale = useLocale();
  return (explanation, currency) => {
    const { settledAmount, heldAmount, limitAmount } = explanation ?? {};
    if (settledAmount == null || heldAmount == null || limitAmount == null) return undefined;
    const meter = METERS.find((one) => one === explanation?.meter) ?? "cost";
    // Side by side the three must differ where they differ: cents are too coarse for a small budget.
    const digits = BigInt(limitAmount) < SMALL_LIMIT_NANOS ? 6 : 2;
    const text = (amount: string): string =>
      meter === "cost"
        ? `${currency}\u00a0${formatNanos(BigInt(amount), { locale, digits })}`
        : `${amountOfMeter(amount, meter, locale)} ${b(`meters.${meter}`)}`;
    return t("standing", { settled: text(settledAmount), held: text(heldAmount), limit: text(limitAmount) });
  };
}

/** A call that was answered without a provider. */
function useNote(): (refusal: RequestRefusal, detail: RequestDetail) => readonly (string | undefined)[] {
  const t = useTranslations("explain");
  const locale = useLocale();
  return ({ code, deferral }, { modelRequested, organisation }) => {
    const model = modelRequested ?? "–";
    if (code === "replayed") return [t("replayed")];
    if (code !== "deferred") return [t("staticText", { model })];
    const at = (ms: number): string => dateTimeText(ms, locale, organisation.timeZone);
    const { state = null, tries = 0, deadlineMs = null, endedMs = null } = deferral ?? {};
    return [
      t("deferred", { model }),
      deferral === null ? undefined : t("deferredId", { id: deferral.id }),
      state === null ? undefined : t(`deferredState.${state}`, { tries }),
      endedMs !== null
        ? t("deferredEnded", { at: at(endedMs) })
        : deadlineMs === null
          ? undefined
          : t("deferredDeadline", { at: at(deadlineMs) }),
    ];
  };
}

/** What an attempt failed of, and that it cost nothing where it did. */
function useFailure(): (attempt: RequestAttempt, failure: string) => readonly string[] {
  const t = useTranslations("explain");
  return (attempt, failure) => {
    const kind = FAILURES.find((one) => one === failure) ?? "unknown";
    const provider = attempt.provider ?? "–";
    const reason = t(`failures.${kind}`);
    return [
      attempt.statusCode === null
        ? t("failedUnanswered", { model: attempt.modelServed, provider, reason })
        : t("failed", { model: attempt.modelServed, provider, reason, status: attempt.statusCode }),
      ...(attempt.amount === "0" && !attempt.isEstimated ? [t("failedFree")] : []),
    ];
  };
}

function isSaid(sentence: string | undefined): sentence is string {
  return sentence !== undefined;
}

export function useExplanation(): Explain {
  const t = useTranslations("explain");
  const locale = useLocale();
  const outcomeText = useOutcomeText();
  const because = useBecause();
  const standing = useStanding();
  const note = useNote();
  const spent = (explanation: Explanation): string | undefined => {
    const names = explanation?.spentTargets ?? [];
    return names.length === 0 ? undefined : t("spentTargets", { names: names.join(", ") });
  };
  const failed = useFailure();
  return {
    ofAttempt: (attempt, detail) => {
      const { currency } = detail.organisation;
      const { explanation } = attempt;
      if (explanation?.failure != null) {
        return [...failed(attempt, explanation.failure), attempt.isEstimated ? t("estimated") : undefined].filter(
          isSaid,
        );
      }
      const asked = detail.modelRequested ?? attempt.modelServed;
      const first =
        attempt.decision === "downgrade" || asked !== attempt.modelServed
          ? t("downgraded", { asked, served: attempt.modelServed })
          : t(attempt.decision === "cache" ? "cached" : attempt.decision === "static" ? "staticText" : "passed", {
              model: asked,
            });
      const saved = moneyWithCode(attempt.savedAmount, currency, locale);
      return [
        first,
        because(explanation, attempt.rungBasisPoints, false),
        standing(explanation, currency),
        attempt.savedAmount === "0" ? undefined : t("saved", { amount: saved }),
        attempt.isOverflow ? t("overflow") : undefined,
        spent(explanation),
        explanation?.ignoredClass == null ? undefined : t("ignoredClass", { name: explanation.ignoredClass }),
        attempt.outcome === "ok" ? undefined : t("ended", { outcome: outcomeText(attempt.outcome) }),
        attempt.isEstimated ? t("estimated") : undefined,
      ].filter(isSaid);
    },
    ofRefusal: (refusal, detail) =>
      [
        ...(decisionOfCode(refusal.code) === "refused"
          ? [
              t("refused", { reason: outcomeText(refusal.code), model: detail.modelRequested ?? "–" }),
              refusal.detail === null ? undefined : t("detail", { detail: refusal.detail }),
              spent(refusal.explanation),
              because(refusal.explanation, 0, true),
              standing(refusal.explanation, detail.organisation.currency),
            ]
          : note(refusal, detail)),
        t("noMoney"),
      ].filter(isSaid),
  };
}
