"use client";
import { useLocale, useTranslations } from "next-intl";
import Link from "next/link";
import type { ReactElement } from "react";
import { BudgetBar } from "@/components/budgets/budget-bar";
import { RungBadge } from "@/components/budgets/rung-badge";
import { useBudgetWords } from "@/components/budgets/use-budget-words";
import { amountOfMeter, percentText } from "@/components/format/money";
import { resetText } from "@/components/format/time";
import { Button } from "@/components/ui/button";
import { Card, CardHeader } from "@/components/ui/card";
import { EmptyState } from "@/components/ui/notice";
import type { Overview, OverviewBudget } from "@/lib/contracts/overview";

const SHOWN = 8;
const KIND_ORDER = ["organization", "department", "team", "app", "user"];

/** Those nearest to their limit first; the organisation's own always on top. */
function byUrgency(a: OverviewBudget, b: OverviewBudget): number {
  const top = Number(b.consumerKind === "organization") - Number(a.consumerKind === "organization");
  if (top !== 0) return top;
  const used = (b.usedBasisPoints ?? 10_000) - (a.usedBasisPoints ?? 10_000);
  return used !== 0 ? used : KIND_ORDER.indexOf(a.consumerKind) - KIND_ORDER.indexOf(b.consumerKind);
}

function BudgetRow({ budget, view }: { readonly budget: OverviewBudget; readonly view: Overview }): ReactElement {
  const t = useTranslations("overview");
  const b = useTranslations("budgets");
  const locale = useLocale();
  const words = useBudgetWords();
  const limit = BigInt(budget.limitAmount) + BigInt(budget.grantedAmount);
  const amount = (value: string | bigint): string => amountOfMeter(value, budget.meter, locale);
  const unit = budget.meter === "cost" ? view.organisation.currency : b(`meters.${budget.meter}`);
  return (
    <li className="grid gap-x-5 gap-y-1.5 px-4 py-3 sm:px-5 md:grid-cols-[minmax(0,13rem)_minmax(0,1fr)_minmax(0,15rem)] md:items-center">
      <div className="min-w-0">
        <p className="truncate font-medium" title={budget.name}>
          {budget.consumerName}
        </p>
        <p className="text-xs text-soft">
          {b(`periods.${budget.periodKind}`)} · {unit}
          {budget.perEndUser ? ` · ${b("perEndUser")}` : ""}
        </p>
      </div>
      <div className="min-w-0">
        <BudgetBar budget={budget} label={t("barLabel", { name: budget.consumerName })} />
        <p className="mt-1.5 text-xs text-soft">{words.rungSentence(budget.rung)}</p>
      </div>
      <div className="figures flex items-start justify-between gap-3 md:block md:text-right">
        <p className="text-[0.8125rem]">
          <span className="font-semibold">{amount(budget.spentAmount)}</span>
          <span className="text-soft">{` / ${amount(limit)}`}</span>
          {budget.heldAmount === "0" ? null : (
            <span className="block text-xs text-soft">{t("plusHeld", { amount: amount(budget.heldAmount) })}</span>
          )}
        </p>
        <p className="mt-0.5 flex items-center justify-end gap-2 text-xs text-soft">
          <span>{budget.usedBasisPoints === null ? "–" : percentText(budget.usedBasisPoints, locale)}</span>
          <RungBadge budget={budget} />
        </p>
        <p className="mt-0.5 hidden text-xs text-soft md:block">
          {t("resets", { at: resetText(budget.period.endMs, locale, view.organisation.timeZone) })}
        </p>
      </div>
    </li>
  );
}

export function BudgetList({ view }: { readonly view: Overview }): ReactElement {
  const t = useTranslations("overview");
  const budgets = [...view.budgets].sort(byUrgency);
  return (
    <Card aria-labelledby="overview-budgets">
      <CardHeader
        id="overview-budgets"
        title={t("budgetsTitle")}
        note={t("budgetsNote")}
        action={
          <Button asChild variant="link" size="sm">
            <Link href="/budgets">{t("allBudgets", { count: budgets.length })}</Link>
          </Button>
        }
      />
      {budgets.length === 0 ? (
        <EmptyState
          title={t("noBudgetsTitle")}
          body={t("noBudgetsBody")}
          action={
            <Button asChild variant="primary">
              <Link href="/budgets">{t("setBudget")}</Link>
            </Button>
          }
        />
      ) : (
        <ul className="divide-y border-t">
          {budgets.slice(0, SHOWN).map((budget) => (
            <BudgetRow key={budget.id} budget={budget} view={view} />
          ))}
        </ul>
      )}
    </Card>
  );
}
