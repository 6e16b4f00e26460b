"use client";
import { ChevronRight, Plus, TriangleAlert } from "lucide-react";
import { useLocale, useTranslations } from "next-intl";
import type { ReactElement, ReactNode } from "react";
import { MeterAmount } from "@/components/format/figures";
import { amountOfMeter, moneyText, percentText } from "@/components/format/money";
import { resetText } from "@/components/format/time";
import { Badge } from "@/components/ui/badge";
import { Button } from "@/components/ui/button";
import { cn } from "@/components/ui/cn";
import type { BudgetNode, BudgetTree, BudgetView } from "@/lib/contracts/budgets";
import { BudgetActions } from "./budget-actions";
import type { BudgetPanel } from "./budget-actions";
import { BudgetBar } from "./budget-bar";
import { RungBadge } from "./rung-badge";
import type { TreeRow } from "./tree-rows";
import { EndUsers } from "./end-users";
import { useBudgetWords } from "./use-budget-words";

interface TableProps {
  readonly tree: BudgetTree;
  readonly rows: readonly TreeRow[];
  readonly onToggle: (id: string) => void;
  readonly onOpen: (panel: BudgetPanel) => void;
}

function leftOf(budget: BudgetView): bigint {
  return (
    BigInt(budget.limitAmount) + BigInt(budget.grantedAmount) - BigInt(budget.spentAmount) - BigInt(budget.heldAmount)
  );
}

/** The node's name with what opens it, indented by depth. */
function NodeName({ row, onToggle }: { readonly row: TreeRow; readonly onToggle: (id: string) => void }): ReactElement {
  const t = useTranslations("budgets");
  const { node, hasChildren, isOpen } = row;
  return (
    <div
      className="flex min-w-0 items-center gap-1"
      style={{ paddingInlineStart: `${String(Math.min(node.depth, 6) * 1.125)}rem` }}
    >
      {hasChildren ? (
        <Button
          variant="ghost"
          size="iconSm"
          aria-expanded={isOpen}
          aria-label={t(isOpen ? "collapse" : "expand", { name: node.name })}
          onClick={() => onToggle(node.id)}
          className="-ml-1 size-6 max-md:size-10"
        >
          <ChevronRight aria-hidden className={cn("transition-transform", isOpen && "rotate-90")} />
        </Button>
      ) : (
        <span aria-hidden className="w-5 shrink-0 max-md:w-9" />
      )}
      <div className="min-w-0">
        <p className={cn("break-words", node.depth <= 1 ? "font-semibold" : "font-medium")}>{node.name}</p>
        <p className="truncate text-xs text-soft">
          {t(`kinds.${node.kind}`)}
          {node.costCentre === null ? "" : ` · ${node.costCentre}`}
        </p>
      </div>
      {node.frozen ? <Badge tone="danger">{t("frozen")}</Badge> : null}
    </div>
  );
}

function Allocation({ node, tree }: { readonly node: BudgetNode; readonly tree: BudgetTree }): ReactElement | null {
  const t = useTranslations("budgets");
  const locale = useLocale();
  if (node.allocation === null) return null;
  const over = BigInt(node.allocation.childrenAmount) - BigInt(node.allocation.limitAmount);
  const amount = `${tree.organisation.currency}\u00a0${moneyText(over < 0n ? -over : over, locale)}`;
  if (over > 0n) {
    return (
      <p className="mt-1 flex items-start gap-1.5 text-xs text-warn-ink">
        <TriangleAlert aria-hidden className="mt-px size-3.5 shrink-0" />
        {t("overAllocated", { amount })}
      </p>
    );
  }
  return over === 0n ? null : <p className="mt-1 text-xs text-soft">{t("notAllocated", { amount })}</p>;
}

/** What the budget is besides its numbers: filters, ladder, how hard. */
function Facts({
  budget,
  tree,
  node,
}: {
  readonly budget: BudgetView;
  readonly tree: BudgetTree;
  readonly node: BudgetNode;
}): ReactElement {
  const t = useTranslations("budgets");
  const words = useBudgetWords();
  const locale = useLocale();
  const filters = [
    ...(budget.environment === null ? [] : [t(`environments.${budget.environment}`)]),
    ...budget.models,
    ...budget.classes,
    ...(budget.perEndUser ? [t("perEndUser")] : []),
  ];
  return (
    <div className="text-xs text-soft">
      <p>{budget.frozen ? words.enforcement(budget.enforcement, true) : words.rungSentence(budget.rung)}</p>
      {budget.enforcement === "enforce" ? null : <p>{words.enforcement(budget.enforcement, false)}</p>}
      {filters.length === 0 ? null : <p>{t("filters", { what: filters.join(", ") })}</p>}
      <EndUsers budget={budget} />
      {budget.overflowAmount === "0" ? null : (
        <p>{t("overflowUpTo", { amount: amountOfMeter(budget.overflowAmount, budget.meter, locale) })}</p>
      )}
      {node.budgets[0]?.id === budget.id ? <Allocation node={node} tree={tree} /> : null}
    </div>
  );
}

function Cell({
  label,
  className,
  children,
}: {
  readonly label: string;
  readonly className?: string;
  readonly children: ReactNode;
}): ReactElement {
  return (
    <td
      className={cn(
        "px-2 py-2.5 align-top max-xl:flex max-xl:items-baseline max-xl:justify-between max-xl:gap-2 max-xl:px-4 max-xl:py-0.5",
        className,
      )}
    >
      <span className="text-xs text-soft xl:hidden">{label}</span>
      <span className="max-xl:text-right">{children}</span>
    </td>
  );
}

interface BudgetCellsProps {
  readonly tree: BudgetTree;
  readonly node: BudgetNode;
  readonly budget: BudgetView;
  readonly onOpen: (panel: BudgetPanel) => void;
}

function BudgetCells({ tree, node, budget, onOpen }: BudgetCellsProps): ReactElement {
  const t = useTranslations("budgets");
  const locale = useLocale();
  const { currency, timeZone } = tree.organisation;
  const left = leftOf(budget);
  const number = "text-right whitespace-nowrap";
  return (
    <>
      <Cell label={t("col.period")} className="whitespace-nowrap">
        <span className="text-[0.8125rem]">{t(`periods.${budget.periodKind}`)}</span>
        {budget.meter === "cost" ? null : (
          <span className="text-xs text-soft xl:block">{` ${t(`meters.${budget.meter}`)}`}</span>
        )}
      </Cell>
      <Cell label={t("col.limit", { currency })} className={number}>
        <span className="font-medium">
          <MeterAmount
            amount={(BigInt(budget.limitAmount) + BigInt(budget.grantedAmount)).toString()}
            meter={budget.meter}
          />
        </span>
        {budget.grantedAmount === "0" ? null : (
          <span className="block text-xs text-soft">{` ${t("plusGrant", { amount: amountOfMeter(budget.grantedAmount, budget.meter, locale) })}`}</span>
        )}
      </Cell>
      <Cell label={t("col.spent")} className={number}>
        <MeterAmount amount={budget.spentAmount} meter={budget.meter} />
      </Cell>
      <Cell label={t("col.held")} className={cn(number, "text-soft")}>
        {budget.source === "booked" || budget.perEndUser ? (
          "–"
        ) : (
          <MeterAmount amount={budget.heldAmount} meter={budget.meter} />
        )}
      </Cell>
      <Cell label={t("col.left")} className={cn(number, left < 0n && "text-danger")}>
        <MeterAmount amount={left.toString()} meter={budget.meter} />
      </Cell>
      <td className="w-[32%] min-w-52 px-2 py-2.5 align-top max-xl:col-span-2 max-xl:block max-xl:w-full max-xl:px-4">
        <div className="flex items-center gap-2.5">
          <BudgetBar
            budget={budget}
            label={t("barText", {
              percent: percentText(budget.usedBasisPoints ?? 10_000, locale),
              spent: amountOfMeter(budget.spentAmount, budget.meter, locale),
              held: amountOfMeter(budget.heldAmount, budget.meter, locale),
              limit: amountOfMeter(budget.limitAmount, budget.meter, locale),
            })}
            className="flex-1"
          />
          <span className="figures w-12 text-right text-xs">
            {budget.usedBasisPoints === null ? "–" : percentText(budget.usedBasisPoints, locale)}
          </span>
          <RungBadge budget={budget} />
        </div>
        <div className="mt-1.5">
          <Facts budget={budget} tree={tree} node={node} />
        </div>
      </td>
      <Cell label={t("col.next")} className="figures whitespace-nowrap text-[0.8125rem] text-soft">
        {resetText(budget.period.endMs, locale, timeZone)}
      </Cell>
      <td className="px-2 py-2 align-top max-xl:absolute max-xl:top-1 max-xl:right-1">
        <BudgetActions node={node} budget={budget} onOpen={onOpen} />
      </td>
    </>
  );
}

function NodeRows({ tree, row, onToggle, onOpen }: Omit<TableProps, "rows"> & { readonly row: TreeRow }): ReactElement {
  const t = useTranslations("budgets");
  const { node } = row;
  const add = node.canWrite ? (
    <Button
      size="sm"
      variant="ghost"
      aria-label={t("addAt", { name: node.name })}
      onClick={() => onOpen({ kind: "create", node })}
    >
      <Plus aria-hidden /> {t("add")}
    </Button>
  ) : null;
  const span = Math.max(node.budgets.length, 1);
  const rowClass =
    "hover:bg-sunken/40 max-xl:relative max-xl:grid max-xl:grid-cols-2 max-xl:border-t max-xl:py-2 xl:[&>*]:border-t";
  return (
    <tbody id={node.id} data-node={node.name} className="scroll-mt-24 target:bg-brand-soft/60">
      {node.budgets.length === 0 ? (
        <tr className={rowClass}>
          <th
            scope="row"
            className="max-w-64 px-3 py-2.5 text-left align-top font-normal max-xl:col-span-2 max-xl:block max-xl:max-w-none max-xl:px-4"
          >
            <NodeName row={row} onToggle={onToggle} />
          </th>
          <td
            colSpan={8}
            className="px-3 py-2 align-middle text-xs text-soft max-xl:col-span-2 max-xl:block max-xl:px-4"
          >
            <div className="flex flex-wrap items-center justify-between gap-2">
              {t("noBudgetHere")}
              {add}
            </div>
          </td>
        </tr>
      ) : (
        node.budgets.map((budget, index) => (
          // Below a desk's width each budget is a card with its buttons at the top right; all but the first have no name to stand beside.
          <tr key={budget.id} className={cn(rowClass, index > 0 && "max-xl:pt-13")}>
            {index === 0 ? (
              <th
                scope="row"
                rowSpan={span}
                className="max-w-64 px-3 py-2.5 text-left align-top font-normal max-xl:col-span-2 max-xl:block max-xl:max-w-none max-xl:px-4 max-xl:pr-24"
              >
                <NodeName row={row} onToggle={onToggle} />
              </th>
            ) : null}
            <BudgetCells tree={tree} node={node} budget={budget} onOpen={onOpen} />
          </tr>
        ))
      )}
    </tbody>
  );
}

export function BudgetTreeTable({ tree, rows, onToggle, onOpen }: TableProps): ReactElement {
  const t = useTranslations("budgets");
  const { currency } = tree.organisation;
  const head = "sticky top-14 z-10 bg-surface px-2 py-2 font-medium shadow-[inset_0_-1px_0_var(--line)]";
  return (
    <table className="figures w-full border-separate border-spacing-0 text-[0.8125rem] max-xl:block">
      <thead className="text-left text-xs text-soft max-xl:hidden">
        <tr>
          <th className={cn(head, "rounded-tl-xl")}>{t("col.node")}</th>
          <th className={head}>{t("col.period")}</th>
          <th className={cn(head, "text-right")}>{t("col.limit", { currency })}</th>
          <th className={cn(head, "text-right")}>{t("col.spent")}</th>
          <th className={cn(head, "text-right")}>{t("col.held")}</th>
          <th className={cn(head, "text-right")}>{t("col.left")}</th>
          <th className={head}>{t("col.use")}</th>
          <th className={head}>{t("col.next")}</th>
          <th className={cn(head, "rounded-tr-xl")}>
            <span className="sr-only">{t("col.actions")}</span>
          </th>
        </tr>
      </thead>
      {rows.map((row) => (
        <NodeRows key={row.node.id} tree={tree} row={row} onToggle={onToggle} onOpen={onOpen} />
      ))}
    </table>
  );
}
