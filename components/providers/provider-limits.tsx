"use client";
import { useLocale, useTranslations } from "next-intl";
import type { ReactElement } from "react";
import { BudgetBar } from "@/components/budgets/budget-bar";
import { moneyWithCode, percentText } from "@/components/format/money";
import { Badge } from "@/components/ui/badge";
import { Button } from "@/components/ui/button";
import type { BudgetView } from "@/lib/contracts/budgets";
import type { ProviderList, ProviderView } from "@/lib/contracts/models";

interface LimitsProps {
  readonly list: ProviderList;
  readonly provider: ProviderView;
  readonly onEdit: (budget: BudgetView) => void;
  readonly onRemove: (budget: BudgetView) => void;
}

function Limit({
  budget,
  list,
  provider,
  onEdit,
  onRemove,
}: LimitsProps & { readonly budget: BudgetView }): ReactElement {
  const t = useTranslations("providerLimits");
  const b = useTranslations("budgets");
  const locale = useLocale();
  const { currency } = list.organisation;
  const used = BigInt(budget.spentAmount) + BigInt(budget.heldAmount);
  const isSpent = budget.usedBasisPoints === null || budget.usedBasisPoints >= 10_000;
  const deployment = provider.deployments.find((one) => one.id === budget.deploymentId);
  const what = deployment === undefined ? t("account") : deployment.modelName;
  return (
    <li className="grid gap-x-4 gap-y-1.5 py-2 sm:grid-cols-[minmax(0,1fr)_10rem_auto] sm:items-center">
      <span className="figures min-w-0 text-[0.8125rem]">
        <span className="font-medium">{`${b(`periods.${budget.periodKind}`)} · ${what}`}</span>{" "}
        <span className="text-soft">
          {t("standing", {
            used: moneyWithCode(used, currency, locale),
            limit: moneyWithCode(budget.limitAmount, currency, locale),
            percent: percentText(budget.usedBasisPoints ?? 10_000, locale),
          })}
        </span>{" "}
        {isSpent ? <Badge tone="warn">{t("out")}</Badge> : null}
        {budget.frozen ? <Badge tone="warn">{t("frozen")}</Badge> : null}
      </span>
      <BudgetBar budget={budget} label={t("barLabel", { name: budget.name })} />
      {list.canBudget ? (
        <span className="flex gap-2">
          <Button size="sm" aria-label={t("editOf", { name: budget.name })} onClick={() => onEdit(budget)}>
            {t("edit")}
          </Button>
          <Button
            size="sm"
            variant="dangerGhost"
            aria-label={t("removeOf", { name: budget.name })}
            onClick={() => onRemove(budget)}
          >
            {t("remove")}
          </Button>
        </span>
      ) : null}
    </li>
  );
}

/** What may be spent at the account and its deployments, and how much of that is. */
export function ProviderLimits(props: LimitsProps): ReactElement | null {
  const t = useTranslations("providerLimits");
  const { provider } = props;
  if (provider.budgets.length === 0) return null;
  return (
    <ul aria-label={t("title", { name: provider.name })} className="divide-y border-t px-4 py-1 sm:px-5">
      {provider.budgets.map((budget) => (
        <Limit key={budget.id} budget={budget} {...props} />
      ))}
    </ul>
  );
}
