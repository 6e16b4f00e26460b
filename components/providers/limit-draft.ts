/** The form of what may be spent at a provider, and the inputs it becomes. Pure. */
import { amountToText, parseAmount } from "@/components/budgets/budget-draft";
import { alsoCheck, checkBy } from "@/components/format/checked";
import type { Checked } from "@/components/format/checked";
import { createBudgetInput, updateBudgetInput } from "@/lib/contracts/budgets";
import type { BudgetView, CreateBudgetInput, UpdateBudgetInput } from "@/lib/contracts/budgets";
import type { ProviderView } from "@/lib/contracts/models";

export const LIMIT_PERIODS = ["day", "month"] as const;

/** Texts as typed; the amount in units of the organisation's currency. */
export interface LimitDraft {
  /** Id of one deployment; empty for the whole account. */
  readonly deploymentId: string;
  readonly periodKind: (typeof LIMIT_PERIODS)[number];
  readonly amount: string;
}

export function limitDraftOf(budget: BudgetView | null): LimitDraft {
  if (budget === null) return { deploymentId: "", periodKind: "month", amount: "" };
  return {
    deploymentId: budget.deploymentId ?? "",
    periodKind: LIMIT_PERIODS.find((kind) => kind === budget.periodKind) ?? "month",
    amount: amountToText(budget.limitAmount, "cost"),
  };
}

const LONGEST_NAME = 80;

/** A new limit, or the changed one where a budget is given. */
export function toLimitInput(
  draft: LimitDraft,
  provider: ProviderView,
  budget: BudgetView | null,
): Checked<CreateBudgetInput | UpdateBudgetInput> {
  const parsed = parseAmount(draft.amount, "cost");
  const errors = parsed.ok ? {} : { limitAmount: parsed.error };
  const { periodKind } = draft;
  const limitAmount = parsed.ok ? parsed.amount.toString() : "0";
  if (budget !== null) {
    const change = { limitAmount, periodKind, expectedVersion: budget.version };
    return alsoCheck(checkBy(updateBudgetInput, change), errors);
  }
  const deployment = provider.deployments.find((one) => one.id === draft.deploymentId);
  const owner = deployment === undefined ? { providerId: provider.id } : { deploymentId: deployment.id };
  const name = (deployment === undefined ? provider.name : `${provider.name} · ${deployment.modelName}`).slice(
    0,
    LONGEST_NAME,
  );
  const input = {
    ...{
      consumerId: null,
      apiKeyId: null,
      ...owner,
      name,
      meter: "cost",
      periodKind,
      limitAmount,
      overflowAmount: "0",
    },
    ...{ enforcement: "enforce", ladder: null, environment: null, models: [], classes: [] },
  };
  return alsoCheck(checkBy(createBudgetInput, input), errors);
}
